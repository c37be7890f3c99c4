"""The logs that a load writes in batches: loads, drift, plans and writes."""

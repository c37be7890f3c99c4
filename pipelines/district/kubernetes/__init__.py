"""A district on Kubernetes: Dagster's own launcher starts each run as a Kubernetes job, so a district needs
neither workers nor a broker."""

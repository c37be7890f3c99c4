"""The reports of the platform: their parameters, their queries, and what a query answers."""

"""What the workers of a district share, in the Postgres that Dagster's runs are kept in: see workers."""

"""The state that a district's workers share in Dagster's Postgres: the rate budget and tokens."""

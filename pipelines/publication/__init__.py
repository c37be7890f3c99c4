"""The sensors that publish campus.duckdb, or shards, after loads."""

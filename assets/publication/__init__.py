"""The published file and the shards as assets."""

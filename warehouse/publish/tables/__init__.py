"""The models as open tables: Delta tables of all shards beside the published files, and their catalogue."""

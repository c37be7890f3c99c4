"""The published files: audiences, shards and their manifest, and reading shards as one database."""

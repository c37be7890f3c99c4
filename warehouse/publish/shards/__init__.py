"""Publication in shards: each is a file of some schools, built and published by itself."""

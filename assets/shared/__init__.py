"""Shared by all assets: partitions, checks, metadata, and Dagster's private parts."""

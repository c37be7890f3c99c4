"""The reports of the platform: parameters, queries, fields and rows."""

"""Reads the files that people hand over: CSV, xlsx and Parquet."""

"""Files for people, made of the published campus.duckdb: workbooks, CSV and Parquet."""

"""The compiled dbt project, its thresholds and its runner."""

"""Runs of Dagster: where they are stored, who launches them, locks, and runs that did not finish."""

"""Dagster's UI behind a guard, and the command that runs the UI and the daemon."""

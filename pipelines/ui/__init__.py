"""Dagster's UI behind a guard, and the command that runs it beside the daemon."""

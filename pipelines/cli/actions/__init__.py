"""The work of the commands, which import it only when they run: Dagster takes seconds to import."""

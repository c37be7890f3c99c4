"""The connection of a run: runtime, outage, capabilities."""

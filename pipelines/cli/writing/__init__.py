"""The commands that write to the platform."""

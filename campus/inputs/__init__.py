"""The inputs that a school keeps itself, as files."""

"""The platform's rows: generated on first use, and changed by tests while the platform runs."""

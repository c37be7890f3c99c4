"""The datasets of the platform: their metadata, rows and filters."""

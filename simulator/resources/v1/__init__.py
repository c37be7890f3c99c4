"""The resources of v1, and its other paths."""

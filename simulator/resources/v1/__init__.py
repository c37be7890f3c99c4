"""The resources of v1, and its paths that show no resource of their own."""

"""The datasets of the platform: what there is, its rows, and how they are asked for."""

"""A realistic school, generated from a seed. Each row is a function of the size, the seed and its key."""

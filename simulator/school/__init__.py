"""A believable school, made from a seed: every row is a function of the size, the seed and its own key."""

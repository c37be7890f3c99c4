"""Change pushes of the platform: whether they are genuine, and what they say. No I/O."""

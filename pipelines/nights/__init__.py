"""A night: the loads of each school in one run, and what asks for them."""

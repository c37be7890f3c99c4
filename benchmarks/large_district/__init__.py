"""A district of thousands of schools, simulated with measured service times."""

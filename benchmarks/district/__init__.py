"""A district: what several workers do together."""

"""A district: a daemon that asks for runs, a broker that hands them out, and workers that run them."""

"""A district: a daemon requests runs, a broker queues them, and workers execute them."""

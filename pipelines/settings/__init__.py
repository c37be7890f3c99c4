"""Settings: the environment, .env, campus.yaml, and which platform a home was loaded from."""

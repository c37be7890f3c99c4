"""A school platform to run against without credentials."""

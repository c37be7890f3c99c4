"""The tests' hand in the machine."""

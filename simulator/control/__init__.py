"""The control requests of tests: faults, the request log, true rows and changes."""

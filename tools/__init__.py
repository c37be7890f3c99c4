"""What developers run beside the tests: planted faults, and the proof that a rebuild changed nothing."""

"""The bulk files of OneRoster 1.2, as a zip for other school systems."""

"""The bulk files of OneRoster, as a zip for other school systems."""

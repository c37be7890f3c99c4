"""The resources of v3: base data, classes and assessments."""

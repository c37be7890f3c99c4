"""The nightly load: one run per school, and the runs and slices that a night lacks."""

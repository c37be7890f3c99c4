"""The nightly schedule, and the schedule and sensors of exports."""

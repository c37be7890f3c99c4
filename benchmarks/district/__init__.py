"""Benchmarks of a district: several workers together."""

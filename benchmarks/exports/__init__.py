"""Benchmarks of files for people."""

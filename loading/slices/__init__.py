"""Loads one slice: stage, read, commit."""

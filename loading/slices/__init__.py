"""Loads one slice: strategy, stage, commit."""

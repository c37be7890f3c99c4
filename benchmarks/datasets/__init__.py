"""Loads a dataset of a million rows with this sync and in other ways, from the same simulator."""

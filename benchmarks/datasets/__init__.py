"""A dataset of a million rows: this sync beside other ways to load it, on the same simulator."""

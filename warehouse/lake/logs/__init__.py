"""The log tables of the lake."""

"""Reads the files that somebody else may write. Imports no other room."""

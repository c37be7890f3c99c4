"""Compares everything that users see of two versions of this project: make unchanged BASE=<commit>."""

"""Writes to the platform: planned, carried out, recorded, and read again."""

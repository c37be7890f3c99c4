"""Spreadsheets of a wide table, written side by side."""

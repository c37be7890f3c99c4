"""Output at the terminal: lines, tables, progress and the verdict of a sync."""

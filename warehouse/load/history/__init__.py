"""The history of rows: the change log, past rows, and rows of earlier commits."""

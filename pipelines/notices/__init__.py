"""The morning message: sent once a day, and only if something is to be done or was mended."""

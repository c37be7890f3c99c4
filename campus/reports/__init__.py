"""Reports: queries that the platform runs with parameters, and whose fields it describes by itself."""

"""Reports: queries that the platform runs with parameters, whose fields it describes by itself."""

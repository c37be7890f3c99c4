"""Writing to the platform: the commands' and jobs' common ground."""

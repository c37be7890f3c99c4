"""Commands for developers, called by the Makefile."""

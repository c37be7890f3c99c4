"""Sends each write once, even if its response is lost."""

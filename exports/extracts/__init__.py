"""Pseudonymous extracts of the published file, for researchers and vendors."""

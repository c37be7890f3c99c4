"""Answers an assistant's questions about the published file, read-only, by the Model Context Protocol."""

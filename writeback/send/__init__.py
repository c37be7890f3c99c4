"""Sends writes: each once, also where its answer is lost."""

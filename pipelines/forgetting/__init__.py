"""Persons and schools taken out of a whole home, and the proof that nothing is left."""

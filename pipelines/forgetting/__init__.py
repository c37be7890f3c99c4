"""Removes persons and schools from a whole home, and proves that nothing is left."""

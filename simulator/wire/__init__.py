"""How rows are sent."""

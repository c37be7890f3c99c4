"""The board: one self-contained page a school, and one for all schools together, of what to look at today."""

"""Writes to the platform: the work behind the commands and jobs of rosters, marks and swipes."""

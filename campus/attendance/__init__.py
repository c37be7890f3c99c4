"""Attendance: which sessions there are, the cheaper way to ask, and rows that do not depend on the way."""

"""Attendance: the marks of lessons, and swipes."""

"""Timetables and attendance of classes."""

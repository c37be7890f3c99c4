"""Sheets and words of workbooks and pages, as data."""

"""Spreadsheets: sheets as data, and the writer of workbooks."""

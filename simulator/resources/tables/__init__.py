"""The endpoints of datasets and reports."""

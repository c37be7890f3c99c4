"""The endpoints of datasets and reports, whose rows are kept in tables."""

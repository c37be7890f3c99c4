"""A school's roster, pushed to the platform: read, planned, and carried out as planned."""

"""The wire format: rows as the platform sends them."""

"""The HTTP layer before the handlers: access, faults, filters, pages and routes."""

"""What stands between a request's bytes and its handler: access, faults, lists, pages, routes."""

"""Who is told in the morning, and what: one message a night, only where there is something to do."""

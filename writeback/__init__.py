"""Writing back to the platform: plan, note in the journal, send, look, record."""

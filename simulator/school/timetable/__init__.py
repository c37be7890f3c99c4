"""When and where classes meet, and who was there."""

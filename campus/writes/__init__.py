"""What is written to the platform, and how a write is carried out no more than once."""

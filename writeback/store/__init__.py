"""The SQLite files of a home: the journal of writes, the outbox of swipes, and unfinished lessons."""

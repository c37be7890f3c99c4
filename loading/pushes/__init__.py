"""Pushes from their arrival to the lake: kept in an inbox, and drained into reads of what they name."""

"""The status of the warehouse, school by school, as data and as text."""

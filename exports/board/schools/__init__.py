"""The page of all schools of a district."""

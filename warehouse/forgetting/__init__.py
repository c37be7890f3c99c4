"""Erases persons and schools from everything that the warehouse stores, and keeps them erased."""

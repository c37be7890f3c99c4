"""Persons and schools that the warehouse must hold nothing about any more."""

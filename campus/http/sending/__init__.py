"""Sends one request: attempts, rate, health, transport."""

"""Verifies who calls, at the one door that every request comes through, and keeps the account's root credential."""

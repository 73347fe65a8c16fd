"""Plays workloads of every kind live, and simulates each from its own ledger, which is all that a user has."""

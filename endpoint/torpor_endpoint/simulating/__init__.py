"""Asks a simulator about an endpoint: it runs in a process apart, and reads the ledger as a file."""

"""Stores the endpoint's data: its data folder, and tables of records in SQLite or PostgreSQL."""

"""Stores data: the data folder, tags, and tables of records in SQLite or PostgreSQL."""

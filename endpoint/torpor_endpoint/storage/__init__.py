"""Stores the endpoint's data: its data folder, and SQLite tables of records."""

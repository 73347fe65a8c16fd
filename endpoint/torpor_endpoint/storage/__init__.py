"""What the endpoint keeps: its data folder, and SQLite tables of records."""

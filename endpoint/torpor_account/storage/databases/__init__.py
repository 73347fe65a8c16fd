"""Databases in SQLite files or in PostgreSQL, behind one interface, for statements that both understand."""

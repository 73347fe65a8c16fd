"""Reads traces from files: CSV, Parquet, Azure's trace, and an endpoint's own ledger."""

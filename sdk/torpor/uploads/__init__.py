"""Brings local models to S3: what becomes of each file, what no instance could load, and the upload itself."""

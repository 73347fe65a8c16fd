"""Data capture: samples requests, and writes them with their answers to S3, beside the requests."""

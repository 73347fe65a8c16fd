"""From an S3 key to a folder on disk that can be trusted."""

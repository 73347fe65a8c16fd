"""S3's operations, by what they act on."""

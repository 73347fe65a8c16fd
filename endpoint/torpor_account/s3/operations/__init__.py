"""S3's operations, in modules by what they act on."""

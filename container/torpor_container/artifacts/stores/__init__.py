"""Where artifacts come from: S3, or a folder of this machine."""

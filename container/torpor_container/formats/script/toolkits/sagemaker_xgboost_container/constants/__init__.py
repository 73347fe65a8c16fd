"""The image's names."""

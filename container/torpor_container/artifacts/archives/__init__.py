"""Unpacks untrusted archives: decompression, tar members, and the files that they become."""

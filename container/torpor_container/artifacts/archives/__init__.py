"""Unpacks archives that nobody trusts: decompression, tar members, and the files that they become."""

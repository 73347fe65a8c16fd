"""The messages of HTTP/1.1: reads requests from bytes, strictly and in bounds, and writes answers. No I/O."""

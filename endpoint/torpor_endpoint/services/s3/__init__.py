"""S3 over a folder: an object store that keeps its objects as files, and an ASGI application that serves it."""

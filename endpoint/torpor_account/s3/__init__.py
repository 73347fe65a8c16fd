"""S3 over a folder: an object store that stores objects as files, and an ASGI application that serves it."""

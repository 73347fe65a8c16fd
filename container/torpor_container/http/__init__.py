"""A server of HTTP/1.1 for ASGI applications, the endpoint's and an instance's."""

"""TLS of a server's port: its certificate, which may change while it serves, and the handshake of each connection."""

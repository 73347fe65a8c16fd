"""How the processes of one deployment prove themselves to each other by TLS: their names, certificates and trust."""

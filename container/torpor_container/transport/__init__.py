"""How requests travel between router and instance: frames, shared connections, and HTTP/1.1 from the client's side."""

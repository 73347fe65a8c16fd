"""The clients of a port: reads each connection's requests, hands them to the application, and writes its answers."""

"""What asynchronous inference decides: where results go, what a notification says, what an attempt came to. Pure."""

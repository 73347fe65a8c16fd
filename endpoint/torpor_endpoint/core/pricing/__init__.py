"""What requests and instances cost at given prices, and what other ways to serve them would cost."""

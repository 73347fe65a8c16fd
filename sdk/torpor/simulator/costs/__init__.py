"""What simulated ways to serve cost, side by side."""

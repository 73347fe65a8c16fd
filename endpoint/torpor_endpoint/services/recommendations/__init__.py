"""Recommendations jobs: the simulator says what a measured model can do on other instances, and for what price."""

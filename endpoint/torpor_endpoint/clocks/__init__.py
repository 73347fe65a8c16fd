"""The clocks of an endpoint's decisions: the real one, and one that a test moves forward."""

"""What a control and its routers tell each other, as values and as JSON: the two sides import it, not each other."""

"""What a confirmation decides, as values: which requests are sent, what differs and why, and the verdict."""

"""What models take: memory, processor time, and the steps of each load."""

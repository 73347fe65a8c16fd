"""What jobs of every kind share: their stages, their records, their turns, and how they stop and fail."""

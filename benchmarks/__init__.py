"""What measures speed. Nothing here asserts a time: machines differ, and shared ones differ from minute to minute."""

"""Application Auto Scaling: checks and stores targets, policies and schedules, and runs a scaler that acts on them."""

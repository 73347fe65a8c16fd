"""Application Auto Scaling: targets, policies and schedules, checked and kept, and a scaler that acts on them."""

"""Application Auto Scaling: targets, policies and schedules, checked and kept. Nothing here scales anything."""

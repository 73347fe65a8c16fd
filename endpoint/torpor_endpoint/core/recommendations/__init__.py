"""What a recommendations job asks the simulator, as values."""

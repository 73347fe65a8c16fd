"""What an instance serves: many models by LoadModel and UnloadModel, or one model for its whole life."""

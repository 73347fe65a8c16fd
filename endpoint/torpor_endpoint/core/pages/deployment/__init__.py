"""The JSON of pages about the processes of a deployment, and not about what they serve."""

"""The model registry: which packages may be deployed."""

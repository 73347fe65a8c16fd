"""SageMaker's control plane: the operations on models, endpoint configs, endpoints and tags."""

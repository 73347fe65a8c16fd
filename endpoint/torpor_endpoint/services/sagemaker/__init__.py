"""SageMaker's control plane: the records of models, endpoint configs, endpoints and tags behind AWS's operations."""

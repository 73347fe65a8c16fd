"""An instance's server: SageMaker's container contract over HTTP/1.1."""

"""The tables of the service SageMaker Runtime. `torpor_endpoint.runtime` answers its operations."""

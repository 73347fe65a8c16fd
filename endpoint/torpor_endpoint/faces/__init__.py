"""Other protocols than SageMaker's, on the same port: they parse and answer, and each request is one InvokeEndpoint."""

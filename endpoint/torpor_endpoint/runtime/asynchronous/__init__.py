"""InvokeEndpointAsync: a durable queue of requests, and what takes them to instances and their results to S3."""

"""SageMaker's container contract over HTTP, as an instance serves it: parse, call, answer."""

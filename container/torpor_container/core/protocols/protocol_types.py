"""The content types by which the endpoint's faces and its instances speak of other protocols' requests."""

from typing import Final

TENSORS: Final = "application/vnd.sagemaker-triton.binary+json"
"""Named tensors of the Open Inference Protocol, as Triton's clients send them to SageMaker."""
TF_SERVING: Final = "application/vnd.torpor.tf-serving+json"
"""A request of TensorFlow Serving's REST API; METHOD is what it asks for."""
METHOD: Final = "method"
PREDICT: Final = "predict"
CLASSIFY: Final = "classify"
REGRESS: Final = "regress"
METADATA: Final = "application/vnd.torpor.model-metadata"
"""A question about a model's inputs and outputs, without a body."""
HEADER_SIZE: Final = "json-header-size"
"""A parameter of TENSORS: the length of the JSON before the data in binary. The whole body is JSON without it."""
MODEL_NAME: Final = "model-name"
MODEL_VERSION: Final = "model-version"
"""Parameters of both: how the caller called the model, percent-encoded."""
OPENAI: Final = "application/vnd.torpor.openai+json"
"""A request of OpenAI's API, whose body is as it was sent; OPERATION is what it asks for."""
OPERATION: Final = "operation"
OPENAI_PATHS: Final = {
    "chat-completions": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
}
"""The operations, and the path of each at a container that answers it."""


def openai_path(content_type: str) -> str | None:
    """The path of the operation that a request of OPENAI asks for; None for any other request."""
    kind, _, rest = content_type.partition(";")
    return OPENAI_PATHS.get(rest.removeprefix(f"{OPERATION}=")) if kind == OPENAI else None

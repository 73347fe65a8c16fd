"""Has boto3 send a TargetModel with operations that do not have it on AWS: streams and asynchronous inference."""

from collections.abc import Mapping, MutableMapping
from typing import Any

OPERATIONS = ("InvokeEndpointWithResponseStream", "InvokeEndpointAsync")
TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
ASKED = "torpor_target_model"


def with_target_model(client: Any) -> Any:
    """A boto3 client of sagemaker-runtime whose `invoke_endpoint_with_response_stream` and `invoke_endpoint_async` take
    TargetModel too.

    It is the given client, which sends TargetModel as the header that InvokeEndpoint has for it.
    """
    for operation in OPERATIONS:
        of = f"sagemaker-runtime.{operation}"
        client.meta.events.register_first(f"before-parameter-build.{of}", _take, unique_id=f"{ASKED}_{operation}")
        client.meta.events.register_first(f"before-call.{of}", _add, unique_id=f"{ASKED}_header_{operation}")
    return client


def _take(params: MutableMapping[str, Any], context: MutableMapping[str, Any], **_: Any) -> None:
    context[ASKED] = params.pop("TargetModel", None)


def _add(params: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
    if context.get(ASKED) is not None:
        params["headers"][TARGET_MODEL] = context[ASKED]

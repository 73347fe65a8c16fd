"""Calls InvokeEndpointWithResponseStream by boto3, also with a TargetModel, which boto3 does not have there."""

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import closing
from typing import Any

OPERATION = "sagemaker-runtime.InvokeEndpointWithResponseStream"
TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
ASKED = "torpor_target_model"


def with_target_model(client: Any) -> Any:
    """A boto3 client of sagemaker-runtime whose `invoke_endpoint_with_response_stream` takes TargetModel too.

    It is the given client, which sends TargetModel as the header that InvokeEndpoint has for it.
    """
    client.meta.events.register_first(f"before-parameter-build.{OPERATION}", _take, unique_id=ASKED)
    client.meta.events.register_first(f"before-call.{OPERATION}", _add, unique_id=f"{ASKED}_header")
    return client


def parts_of(answer: Mapping[str, Any]) -> Iterator[bytes]:
    """The parts of boto3's answer as they come. Its connection is closed after the last, or when the iterator is.

    Raises botocore's EventStreamError, a ClientError, if the model fails between two parts.
    """
    with closing(answer["Body"]) as events:
        for event in events:
            if "PayloadPart" in event:
                yield event["PayloadPart"]["Bytes"]


def _take(params: MutableMapping[str, Any], context: MutableMapping[str, Any], **_: Any) -> None:
    context[ASKED] = params.pop("TargetModel", None)


def _add(params: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
    if context.get(ASKED) is not None:
        params["headers"][TARGET_MODEL] = context[ASKED]

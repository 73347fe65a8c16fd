"""Reads the parts of InvokeEndpointWithResponseStream's answer by boto3."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any


def parts_of(answer: Mapping[str, Any]) -> Iterator[bytes]:
    """The parts of boto3's answer as they come. Its connection is closed after the last, or when the iterator is.

    Raises botocore's EventStreamError, a ClientError, if the model fails between two parts.
    """
    with closing(answer["Body"]) as events:
        for event in events:
            if "PayloadPart" in event:
                yield event["PayloadPart"]["Bytes"]

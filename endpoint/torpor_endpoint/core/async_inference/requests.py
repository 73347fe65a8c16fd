"""The record of an asynchronous request, its states, and the addresses of its results."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.resource_records import AsyncInference

TTL_S = 21_600
"""RequestTTLSeconds, if the caller gives none."""
TIMEOUT_S = 900
"""InvocationTimeoutSeconds, if the caller gives none."""


class AsyncState(StrEnum):
    """Where a request is. One that runs is `Queued` for its record: after a crash it runs again."""

    QUEUED = "Queued"
    COMPLETED = "Completed"
    FAILED = "Failed"
    EXPIRED = "Expired"
    CANCELLED = "Cancelled"


@frozen
class AsyncRequest:
    """A request that was accepted. Times are epoch seconds.

    `headers` are those for the container. `body` is the input if the request carries it; else `input` names the object.
    """

    id: str  # a UUID of its own: the name of its result
    inference_id: str  # the caller's, or the same as `id`
    endpoint: str
    variant: str
    received_s: float
    expires_s: float
    timeout_s: float
    output: str  # s3://bucket/key
    config: AsyncInference  # of its endpoint as it came: the topics of its end
    failure: str | None = None  # s3://bucket/key
    input: str | None = None  # as the caller wrote it
    target: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@frozen
class KeptRequest:
    """A request as the queue keeps it. `number` is its place in the order of arrival."""

    number: int
    request: AsyncRequest
    state: AsyncState
    ended_s: float | None = None
    reason: str | None = None  # why it has no result; of one that waits, why it must not be answered any more
    attempts: int = 0  # how often it was sent to an instance


class Notice(NamedTuple):
    """A message about the end of a request, for an SNS topic."""

    topic: str  # its ARN
    text: str


class Naming(NamedTuple):
    """What a request says of the names of its results."""

    extension: str | None = None  # S3OutputPathExtension
    filename: str | None = None


def output_of(config: AsyncInference, id: str, naming: Naming) -> str:
    """`<S3OutputPath>/<extension>/<filename>`, or `<S3OutputPath>/<extension>/<id>.out`."""
    return _joined(config.output, naming.extension, naming.filename or f"{id}.out")


def failure_of(config: AsyncInference, id: str, naming: Naming) -> str | None:
    """As `output_of`, below S3FailurePath and with `-error.out`; None if the configuration has no such path."""
    if config.failure is None:
        return None
    return _joined(config.failure, naming.extension, f"{naming.filename or id}-error.out")


def _joined(url: str, *parts: str | None) -> str:
    return "/".join([url.rstrip("/"), *(part.strip("/") for part in parts if part and part.strip("/"))])

"""The endpoint's log as JSON lines (`torpor up --log-format json`): one object a line, on standard error.

The only module that writes them. `about` adds fields to a line of the log; as text (the default), a line has its message
alone. The output of instances is not here: it is in CloudWatch Logs, as it was printed.
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypedDict, Unpack

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
ABOUT = "about"
"""The attribute of a log record that holds its further fields."""


class LogFields(TypedDict, total=False):
    """The fields that a line may have beside those of every line. `FIELDS` says what they mean."""

    request_id: str
    endpoint: str
    variant: str
    model: str
    instance: str
    shadow: bool
    inference_id: str
    face: str
    came: str
    method: str
    path: str
    status: int
    error: str
    cold: bool
    duration_ms: float
    steps_ms: Mapping[str, float]
    request_bytes: int
    response_bytes: int
    trace_id: str
    span_id: str
    service: str
    operation: str
    caller: str


FIELDS: dict[str, str] = {
    "time": "RFC 3339, in UTC, with milliseconds. On every line",
    "level": "`debug`, `info`, `warning`, `error` or `critical`. On every line",
    "logger": "the part of the endpoint that speaks; `torpor_endpoint.access` and `torpor_endpoint.audit` have a line for each request. On every line",
    "message": "for a person to read. On every line",
    "exception": "the traceback, where there is one",
    "request_id": "the id that the caller has in `x-amzn-requestid`",
    "endpoint": "the endpoint's name",
    "variant": "the variant's name",
    "model": "the TargetModel",
    "instance": "the instance that answered",
    "shadow": "true: the request is a copy for a shadow variant",
    "inference_id": "the caller's InferenceId",
    "face": "the protocol by which it came, such as `open-inference`, where that is not SageMaker's",
    "came": "when the request came, as `time`; lines of invocations are written up to 0.1 s after the answer",
    "method": "the HTTP method",
    "path": "the path",
    "status": "the HTTP status that the caller got",
    "error": "AWS's code of the error that the caller got",
    "cold": "whether the request was a cold start",
    "duration_ms": "milliseconds from its first byte to its answer",
    "steps_ms": "milliseconds by step, as in `Server-Timing`",
    "request_bytes": "the size of the body that came",
    "response_bytes": "the size of the body that was sent",
    "trace_id": "its trace, with `--otel`",
    "span_id": "its span, with `--otel`",
    "service": "the AWS service, by botocore's name",
    "operation": "the operation of the service",
    "caller": "the ARN of the caller, with `--auth`",
}
"""What each field means: those of every line, and those that a line may have."""


def about(**fields: Unpack[LogFields]) -> dict[str, object]:
    """The `extra` of a call that logs: fields of the line beside its message."""
    return {ABOUT: fields}


def rfc3339(at_s: float) -> str:
    """A point in time, given in epoch seconds, in UTC and with milliseconds."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JsonLines(logging.Formatter):
    """A line for each record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": rfc3339(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, ABOUT, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def single_line(level: int, message: str) -> str:
    """A line for what is said before the log is set up."""
    return JsonLines().format(logging.LogRecord("torpor_endpoint", level, "", 0, message, None, None))

"""Calls every operation of a service once with boto3, in the order of its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.eventstream import EventStream

from tests.endpoint.account.helpers.strictness import Answered

Params = dict[str, Any]
Row = Params | Callable[["Walk"], Params]
"""An operation's parameters, or how to get them from what was answered before."""


@dataclass
class Walk:
    """The answers to the rows of one service. `client_of` makes a boto3 client by the service's name."""

    service: str
    client_of: Callable[[str], Any]
    settled: Callable[[str], Any]
    answers: dict[str, Answered] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    requests: dict[str, AWSPreparedRequest] = field(default_factory=dict)
    before: Callable[[str], object] = str
    """Called with each operation before it."""

    def __post_init__(self) -> None:
        self._bodies: list[bytes] = []
        self._client = self.client_of(self.service)
        self._client.meta.events.register("before-parse", self._note)
        self._client.meta.events.register("before-send", self._sent)

    def through(self, rows: Mapping[str, Row]) -> "Walk":
        """Calls every operation, also after an error of one."""
        for operation, row in rows.items():
            try:
                self.call(operation, row if isinstance(row, dict) else row(self))
            except Exception as error:  # noqa: BLE001  whatever it is, the operation's own test tells it
                self.errors[operation] = error
        return self

    def call(self, operation: str, params: Params) -> Any:
        self.before(operation)
        model = self._client.meta.service_model.operation_model(operation)
        names = {wire: name for name, wire in self._client.meta.method_to_api_mapping.items()}
        parsed = getattr(self._client, names[operation])(**params)
        parsed = {name: _merged(value) if isinstance(value, EventStream) else value for name, value in parsed.items()}
        for stream in parsed.values():
            if hasattr(stream, "read"):
                stream.read()  # to its end, so that its connection is free again
        self.answers[operation] = Answered(model, self._bodies[-1], parsed)
        return parsed

    def add_header(self, operation: str, name: str, value: str) -> None:
        """Adds a header to each call of an operation."""

        def add(params: Mapping[str, Any], **_: Any) -> None:
            params["headers"][name] = value

        self._client.meta.events.register(f"before-call.{self.service}.{operation}", add)

    @property
    def known(self) -> frozenset[str]:
        """Every operation that the service has at AWS."""
        return frozenset(self._client.meta.service_model.operation_names)

    def said(self, operation: str) -> Any:
        """The earlier answer to an operation."""
        return self.answers[operation].parsed

    def close(self) -> None:
        self._client.close()

    def _sent(self, request: AWSPreparedRequest, event_name: str, **_: Any) -> None:
        self.requests[event_name.rpartition(".")[2]] = request

    def _note(self, response_dict: Mapping[str, Any], **_: Any) -> None:
        body = response_dict["body"]
        self._bodies.append(body if isinstance(body, bytes) else b"")


def _merged(events: EventStream) -> dict[str, Any]:
    """One structure with the last event of each kind, as the model's union has them."""
    return {kind: event for come in events for kind, event in come.items()}

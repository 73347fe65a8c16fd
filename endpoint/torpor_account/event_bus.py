"""Puts events on the account's default event bus, whose rules moto keeps and applies."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from torpor_account.aws.calls import Otherwise, Unanswered
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_container.frozen_class import frozen

JSON_1_1 = "application/x-amz-json-1.1"


class NotPut(Exception):
    """EventBridge refused the event. The text has its answer."""


@frozen
class BusEvent:
    """One event of a service. `at_s` is its time in epoch seconds."""

    source: str
    detail_type: str
    region: str
    at_s: float
    resources: Sequence[str]
    detail: Mapping[str, Any] = field(default_factory=dict)


@frozen
class EventBus:
    """`events` answers EventBridge's PutEvents. `in_use` says whether there may be a rule: without one nobody hears of
    an event, and moto is not imported for it."""

    events: Otherwise
    in_use: Callable[[], bool]

    async def put(self, event: BusEvent) -> None:
        """Put the event on the bus. Raises NotPut."""
        entry = {
            "Source": event.source,
            "DetailType": event.detail_type,
            "Time": event.at_s,
            "Resources": list(event.resources),
            "Detail": json.dumps(event.detail),
        }
        headers = {
            "content-type": JSON_1_1,
            "x-amz-target": "AWSEvents.PutEvents",
            "authorization": f"AWS4-HMAC-SHA256 Credential=torpor/19700101/{event.region}/events/aws4_request",
        }
        request = AwsRequest("POST", "/", headers, "", json.dumps({"Entries": [entry]}).encode())
        try:
            answer = await self.events("events", "PutEvents", request)
        except Unanswered as error:
            raise NotPut(str(error)) from error
        if answer.status != 200 or json.loads(answer.body).get("FailedEntryCount"):
            raise NotPut(f"EventBridge answered {answer.status}: {answer.body[:300].decode(errors='replace')}")

"""Turns SQS's long polls into short ones, so that a waiting call does not block moto's one thread for other calls."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_container.frozen_class import frozen

LONGEST_S = 20
PAUSE_S = 0.1

WAIT, QUEUE = "WaitTimeSeconds", "QueueUrl"
DEFAULT = "ReceiveMessageWaitTimeSeconds"
"""The queue's own attribute, for calls without a wait time."""

Ask = Callable[[str, AwsRequest], Awaitable[Response]]
"""Answers one operation of SQS without waiting."""


@frozen
class Poll:
    """A ReceiveMessage call. `wait_s` is None if the queue's attribute holds; `short` is the call without a wait."""

    queue: str
    wait_s: int | None
    short: AwsRequest


async def polled(ask: Ask, request: AwsRequest, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> Response:
    """The answer to a ReceiveMessage call: as soon as there is a message, or when the wait is over."""
    poll = poll_of(request)
    if poll is None:
        return await ask("ReceiveMessage", request)
    now_s = asyncio.get_running_loop().time
    begun_s, answer = now_s(), await ask("ReceiveMessage", poll.short)
    if not _is_empty(answer):
        return answer
    wait_s = await _wait_s(ask, poll) if poll.wait_s is None else poll.wait_s
    while _is_empty(answer) and now_s() < begun_s + wait_s:
        await pause(PAUSE_S)
        answer = await ask("ReceiveMessage", poll.short)
    return answer


def poll_of(request: AwsRequest) -> Poll | None:
    """The call; None if it is malformed or waits longer than 20 seconds: moto's answer then says what is wrong."""
    form = "x-amz-target" not in request.headers
    try:
        fields = dict(parse_qsl(request.body.decode() or request.query)) if form else json.loads(request.body)
        wait_s = int(fields[WAIT]) if WAIT in fields else None
        queue = str(fields.get(QUEUE, request.path))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    if wait_s is not None and not 0 <= wait_s <= LONGEST_S:
        return None
    short = {**fields, WAIT: 0}
    return Poll(queue, wait_s, replace(request, body=(urlencode(short) if form else json.dumps(short)).encode()))


async def _wait_s(ask: Ask, poll: Poll) -> int:
    """The wait time of the queue, in seconds."""
    target = {"x-amz-target": "AmazonSQS.GetQueueAttributes", "content-type": "application/x-amz-json-1.0"}
    body = json.dumps({QUEUE: poll.queue, "AttributeNames": [DEFAULT]}).encode()
    headers = {**poll.short.headers, **target}
    answer = await ask("GetQueueAttributes", replace(poll.short, headers=headers, body=body))
    attributes: dict[str, Any] = json.loads(answer.body).get("Attributes", {}) if answer.status == 200 else {}
    return int(attributes.get(DEFAULT, 0))


def _is_empty(answer: Response) -> bool:
    """Whether the answer is no error and has no message, in JSON or XML."""
    return answer.status == 200 and b'"Messages"' not in answer.body and b"<Message>" not in answer.body

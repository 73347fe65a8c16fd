"""The operation InvokeEndpointAsync: checks a request, keeps it, and answers where its result will be."""

import json
import uuid
from collections.abc import Callable, Sequence

from torpor_account.aws.wire.asgi import Disconnected, Receive, Send
from torpor_account.storage.databases.database import OutcomeUnknown
from torpor_endpoint.core.async_inference.requests import AsyncRequest
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue, Waiting
from torpor_endpoint.runtime.asynchronous.async_request import BODY_MAX_BYTES, AsyncParameters, parse_async
from torpor_endpoint.runtime.asynchronous.dispatcher import AsyncDispatcher
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Passage, Step, routed
from torpor_endpoint.runtime.passage_end import PassageEnd
from torpor_endpoint.runtime.request import read_body

ACCEPTED = 202


class AsyncInvocations:
    """`clock` gives epoch seconds."""

    def __init__(
        self,
        router: Router,
        queue: AsyncQueue,
        dispatcher: AsyncDispatcher,
        clock: Callable[[], float],
    ) -> None:
        self._router = router
        self._queue = queue
        self._dispatcher = dispatcher
        self._clock = clock

    async def serve(
        self, passage: Passage, receive: Receive, send: Send, before: Sequence[Step], end: PassageEnd
    ) -> None:
        """Answer a request. `before` are the steps before the parsing of its headers."""
        try:
            kept = await end.settled(passage, self._kept(passage, receive, before))
        except Disconnected:
            return
        if isinstance(kept, RuntimeFault):
            await end.send(passage, kept, send)
            return
        body = json.dumps({"InferenceId": kept.inference_id}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"x-amzn-requestid", passage.request_id.encode()),
            (b"x-amzn-sagemaker-outputlocation", kept.output.encode("latin-1")),
        ]
        if kept.failure is not None:
            headers.append((b"x-amzn-sagemaker-failurelocation", kept.failure.encode("latin-1")))
        await send({"type": "http.response.start", "status": ACCEPTED, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _kept(self, passage: Passage, receive: Receive, before: Sequence[Step]) -> AsyncRequest:
        """The request, once it is in the queue. Raises RuntimeFault, Disconnected."""
        for step in before:
            step(passage)
        body, size_bytes = await read_body(passage.scope, receive, BODY_MAX_BYTES)
        if size_bytes > BODY_MAX_BYTES:
            raise RuntimeFault(Situation.OVERSIZE, limit=BODY_MAX_BYTES)
        passage.request = parse_async(passage.scope)
        self._router.route_async(passage)
        call = AsyncParameters.read(passage.scope, size_bytes)
        route = routed(passage)
        config = route.pool.variant.asynchronous
        assert config is not None, "route_async has checked it"
        request = call.request(
            str(uuid.uuid4()),
            passage.request,
            config,
            route.live.name,
            route.variant,
            route.asked or route.target,  # its version is the one that answers when the request has its turn
            b"".join(body),
            self._clock(),
        )
        try:
            number = await self._queue.add(request)
        except OutcomeUnknown:  # its caller gets an error, and the request is answered if the queue has it
            self._dispatcher.unsure()
            raise
        waiting = Waiting(number, request.endpoint, request.variant, request.received_s, request.expires_s)
        self._dispatcher.add(waiting)
        if route.pool.closed:
            await self._dispatcher.came_too_late(waiting)
        return request

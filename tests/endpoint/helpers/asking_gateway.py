"""A gateway that asks a picker as Envoy does: the messages of one HTTP request on one stream, in Envoy's order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from torpor_endpoint.routing.picker.gateway_messages import DUPLEX, METHOD, SERVICE, message

ROW = (b"1,2,3,4",)
SUBSETS, SUBSET = "envoy.lb.subset_hint", "x-gateway-destination-endpoint-subset"


@dataclass
class Said:
    """What a picker has said of one request: `headers` for the instance, by name, or an `immediate` answer."""

    destination: str = ""
    metadata: str = ""
    headers: dict[str, bytes] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    body: bytes = b""
    ends: bool = False
    immediate: tuple[int, bytes] | None = None
    answer_headers: dict[str, bytes] = field(default_factory=dict)
    answer_removed: list[str] = field(default_factory=list)
    answer_body: bytes = b""


class GatewayStreamOf:
    """One stream. `mode` is that of bodies in both directions."""

    def __init__(self, channel: grpc.aio.Channel, mode: int = DUPLEX) -> None:
        call: Any = channel.stream_stream(
            f"/{SERVICE}/{METHOD}",
            request_serializer=message("ProcessingRequest").SerializeToString,
            response_deserializer=message("ProcessingResponse").FromString,
        )
        self.call = call()
        self.said = Said()
        self._mode = mode

    async def asks(
        self,
        path: str,
        headers: dict[str, str],
        body: Sequence[bytes] = ROW,
        subset: object = None,
        method: str = "POST",
    ) -> Said:
        """Send a request up to its end, and hear where it goes."""
        first = message("ProcessingRequest")()
        pairs = {":method": method, ":path": path, ":authority": "models.example", ":scheme": "http", **headers}
        first.request_headers.headers.headers.extend(_pairs(pairs))
        first.request_headers.end_of_stream = not body
        first.protocol_config.request_body_mode = first.protocol_config.response_body_mode = self._mode
        if subset is not None:
            first.metadata_context.filter_metadata[SUBSETS].update({SUBSET: subset})
        await self.call.write(first)
        if self._mode == DUPLEX:
            await self._bodies("request_body", body)
            while await self._hears() and body and not self.said.ends:
                pass
            return self.said
        await self._hears()
        if body:
            await self._bodies("request_body", [b"".join(body)])
            await self._hears()
        return self.said

    async def answers(self, status: int, headers: dict[str, str], body: Sequence[bytes] = (b"[1.0]",)) -> Said:
        """Tell what came from the instance, and hear what the caller gets."""
        head = message("ProcessingRequest")()
        head.response_headers.headers.headers.extend(_pairs({":status": str(status), **headers}))
        head.response_headers.end_of_stream = not body
        self.said.ends = False
        await self.call.write(head)
        await self._bodies("response_body", body)
        await self.call.done_writing()
        while await self._hears():
            pass
        return self.said

    async def _bodies(self, kind: str, body: Sequence[bytes]) -> None:
        for at, chunk in enumerate(body, 1):
            one = message("ProcessingRequest")()
            getattr(one, kind).body, getattr(one, kind).end_of_stream = chunk, at == len(body)
            await self.call.write(one)

    async def _hears(self) -> bool:
        """Hear one answer; False: the picker has said its last."""
        answer = await self.call.read()
        if answer is grpc.aio.EOF:
            return False
        kind, said = answer.WhichOneof("response"), self.said
        if kind == "immediate_response":
            said.immediate = answer.immediate_response.status.code, answer.immediate_response.body
            return False
        response = getattr(answer, kind).response
        given = {one.header.key: one.header.raw_value for one in response.header_mutation.set_headers}
        removed = list(response.header_mutation.remove_headers)
        if kind == "response_headers":
            said.answer_headers, said.answer_removed = given, removed
        elif given:
            said.headers, said.removed = given, removed
            said.destination = given["x-gateway-destination-endpoint"].decode()
            said.metadata = answer.dynamic_metadata["envoy.lb"]["x-gateway-destination-endpoint"]
        piece = response.body_mutation.streamed_response
        if kind == "response_body":
            said.answer_body += piece.body
        else:
            said.body, said.ends = said.body + piece.body, said.ends or piece.end_of_stream
        return True


def _pairs(headers: dict[str, str]) -> list[Any]:
    return [message("HeaderValue")(key=name, raw_value=text.encode()) for name, text in headers.items()]

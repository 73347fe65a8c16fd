"""Reads what a gateway says of a request and its answer, and writes what a picker answers. Values alone, no I/O."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from google.protobuf.json_format import MessageToDict

from torpor_account.aws.wire.asgi import Scope
from torpor_endpoint.routing.picker.gateway_messages import BUFFERED, DUPLEX, NONE, OVERWRITE, message
from torpor_endpoint.routing.picker.picked_place import PickedPlace

DESTINATION = "x-gateway-destination-endpoint"
DESTINATIONS = "envoy.lb"
"""The namespace of the metadata that names the destination."""
SUBSET, SUBSETS = "x-gateway-destination-endpoint-subset", "envoy.lb.subset_hint"
KEPT = frozenset(("host", "content-length", "transfer-encoding", "x-request-id"))
"""Headers of a request that a picker leaves to the gateway, beside its own."""
GATEWAYS_OWN = (":", "x-envoy-")
"""How the names of a gateway's own headers begin."""
ANSWER_KEPT = frozenset(("content-length", "transfer-encoding", "date", "server", "connection"))
CHUNK_BYTES = 64 * 1024
"""The largest piece of a body that Envoy's documentation recommends."""
Headers = list[tuple[bytes, bytes]]


class BadGateway(Exception):
    """The gateway is set up as no picker can work. The message says how to set it up."""


class GatewayHead(NamedTuple):
    """The head of a gateway's request. `ends`: no body follows, or none that a picker sees."""

    scope: Scope
    names: tuple[str, ...]
    allowed: frozenset[str] | None
    body_mode: int
    answer_mode: int
    ends: bool


def read_head(first: Any) -> GatewayHead:
    """Read the first message of a stream. Raises BadGateway."""
    if first.WhichOneof("request") != "request_headers":
        raise BadGateway("a stream must begin with the headers of a request: set request_header_mode to SEND")
    if first.observability_mode:
        raise BadGateway("a picker decides: set observability_mode to false")
    told = first.protocol_config if first.HasField("protocol_config") else None
    mode = DUPLEX if told is None else told.request_body_mode
    if mode not in (NONE, BUFFERED, DUPLEX):
        raise BadGateway("set request_body_mode to FULL_DUPLEX_STREAMED, BUFFERED or NONE")
    headers = headers_of(first.request_headers.headers)
    ends = first.request_headers.end_of_stream or mode == NONE
    answer_mode = DUPLEX if told is None else told.response_body_mode
    names = tuple(dict.fromkeys(name.decode("latin-1") for name, _ in headers))
    return GatewayHead(_scope(headers), names, _subset(first), mode, answer_mode, ends)


def headers_of(given: Any) -> Headers:
    """Names in lower case, with their values, which newer gateways send as bytes."""
    return [(one.key.lower().encode("latin-1"), one.raw_value or one.value.encode()) for one in given.headers]


def _scope(headers: Headers) -> Scope:
    """The request as ASGI has it."""
    own = dict(headers)
    path, _, query = own.get(b":path", b"/").partition(b"?")
    plain = [one for one in headers if not one[0].startswith(b":")]
    if b"host" not in own:
        plain.insert(0, (b"host", own.get(b":authority", b"")))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": own.get(b":method", b"").decode("latin-1"),
        "scheme": own.get(b":scheme", b"http").decode("latin-1"),
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": plain,
        "client": None,
        "server": None,
    }


def _subset(first: Any) -> frozenset[str] | None:
    """The places that the gateway allows, as a list, or in one text with commas."""
    known = first.metadata_context.filter_metadata
    named = MessageToDict(known[SUBSETS]).get(SUBSET) if SUBSETS in known else None
    if named is None:
        return None
    listed = named if isinstance(named, list) else [named]
    return frozenset(one.strip() for text in listed for one in str(text).split(",") if one.strip())


# -- answers -----------------------------------------------------------------------------------------------------------
def sends_to(head: GatewayHead, place: PickedPlace) -> tuple[Any, dict[str, Any]]:
    """The change of the request's headers, and the metadata with the same destination."""
    given = {name.decode("latin-1") for name, _ in place.headers}
    removed = [name for name in head.names if name not in KEPT | given and not name.startswith(GATEWAYS_OWN)]
    destination = (DESTINATION.encode(), place.endpoint.encode())
    changed = mutation([*place.headers, destination], [name for name in removed if name != DESTINATION])
    return changed, {DESTINATIONS: {DESTINATION: place.endpoint}}


def answers_with(told: Headers, came: Headers) -> Any:
    """The change that leaves the caller with the headers that were `told`, of those that `came` from the instance."""
    kept = [one for one in told if one[0].decode("latin-1") not in ANSWER_KEPT]
    names = {name for name, _ in kept}
    removed = dict.fromkeys(
        text
        for name, _ in came
        if name not in names
        and (text := name.decode("latin-1")) not in ANSWER_KEPT
        and not text.startswith(GATEWAYS_OWN)
    )
    return mutation(kept, removed)


def mutation(given: Headers, removed: Iterable[str]) -> Any:
    option, value = message("HeaderValueOption"), message("HeaderValue")
    options = [
        option(header=value(key=name.decode("latin-1"), raw_value=text), append_action=OVERWRITE)
        for name, text in given
    ]
    return message("HeaderMutation")(set_headers=options, remove_headers=list(removed))


def common(**members: Any) -> Any:
    return message("CommonResponse")(**members)


def answer_to(kind: str, metadata: dict[str, Any] | None = None, **members: Any) -> Any:
    """A `ProcessingResponse` to a message of this kind."""
    kinds = {"headers": "HeadersResponse", "body": "BodyResponse", "trailers": "TrailersResponse"}
    made = message(kinds[kind.rpartition("_")[2]])(**members)
    response = message("ProcessingResponse")(**{kind: made})
    if metadata is not None:
        response.dynamic_metadata.update(metadata)
    return response


def immediate(status: int, headers: Headers, body: bytes) -> Any:
    """The answer that the caller gets from the picker itself."""
    kept = [one for one in headers if one[0].decode("latin-1") not in ANSWER_KEPT]
    made = message("ImmediateResponse")(
        status=message("HttpStatus")(code=status), headers=mutation(kept, ()), body=body, details="torpor"
    )
    return message("ProcessingResponse")(immediate_response=made)


def streamed(kind: str, body: bytes, ends: bool) -> Iterable[Any]:
    """A piece of a body as it came, in pieces that a gateway takes."""
    pieces = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)] or [b""]
    for at, piece in enumerate(pieces, 1):
        whole = message("StreamedBodyResponse")(body=piece, end_of_stream=ends and at == len(pieces))
        yield answer_to(kind, response=common(body_mutation=message("BodyMutation")(streamed_response=whole)))

"""Parses an InvokeEndpoint request: reads and checks its headers once, and reads its body within a limit."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from torpor_account.aws.validation import Violation, message, shown
from torpor_account.aws.wire.asgi import DRAIN_MAX_BYTES, Disconnected, Receive, Scope
from torpor_account.request_bodies import TooManyBodies, TooSlow, bodies_of, declared_bytes
from torpor_container import wire
from torpor_container.transport.upstream_answers import Body
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE, CUSTOM_ATTRIBUTES, SESSION_ID, TARGET_MODEL
from torpor_endpoint.runtime.errors import RuntimeFault, Situation

if TYPE_CHECKING:
    from torpor_endpoint.runtime.passage import KnownWay

Header = tuple[bytes, bytes]

TARGET_VARIANT = wire.TARGET_VARIANT.lower().encode()
TARGET_CONTAINER = b"x-amzn-sagemaker-target-container-hostname"
INFERENCE_COMPONENT = b"x-amzn-sagemaker-inference-component"
INFERENCE_ID = wire.INFERENCE_ID.lower().encode()
PREFIX_AWARE_ID = wire.PREFIX_AWARE_ID.lower().encode()
EXPLANATIONS = b"x-amzn-sagemaker-enable-explanations"


class HeaderMember(NamedTuple):
    """A member of InvokeEndpoint that travels as a header, with its constraints in AWS's service model."""

    name: str
    shortest: int
    longest: int
    pattern: str
    fits: Callable[[bytes], object] | None
    """Whether a value has the pattern: a true or a false value. None where any value will do."""
    sensitive: bool = False
    """Whether AWS leaves the value out of its messages."""


def like(pattern: bytes) -> Callable[[bytes], object]:
    """The check whether a whole value has this pattern."""
    return re.compile(pattern).fullmatch


ANY_ASCII, PRINTABLE = r"\p{ASCII}*", r"\A\S[\p{Print}]*\z"
HOSTNAME = r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*"
COMPONENT = r"^[a-zA-Z0-9]([\-a-zA-Z0-9]*[a-zA-Z0-9])?$"
SESSION = r"^(NEW_SESSION)$|^[a-zA-Z0-9](-*[a-zA-Z0-9])*$"

_printable = like(rb"[!-~][ -~]*")  # AWS's pattern lets any first letter in, and only ASCII can follow it
_hostname = like(rb"(?:[a-zA-Z0-9](?:-*[a-zA-Z0-9])*)?")  # an empty header asks for nothing
_session = like(rb"NEW_SESSION|(?:[a-zA-Z0-9](?:-*[a-zA-Z0-9])*)?")

MEMBERS: dict[bytes, HeaderMember] = {
    # A test holds this table against botocore's service model of sagemaker-runtime. A target may have any letters: it
    # is a key of S3, and `torpor_container.core.target_names` has its rules.
    TARGET_MODEL: HeaderMember("TargetModel", 1, 1024, PRINTABLE, None),
    TARGET_VARIANT: HeaderMember("TargetVariant", 0, 63, HOSTNAME, _hostname),
    TARGET_CONTAINER: HeaderMember("TargetContainerHostname", 0, 63, HOSTNAME, _hostname),
    CUSTOM_ATTRIBUTES: HeaderMember("CustomAttributes", 0, 1024, ANY_ASCII, bytes.isascii, sensitive=True),
    INFERENCE_ID: HeaderMember("InferenceId", 1, 64, PRINTABLE, _printable),
    INFERENCE_COMPONENT: HeaderMember("InferenceComponentName", 0, 63, COMPONENT, _hostname),
    SESSION_ID: HeaderMember("SessionId", 0, 256, SESSION, _session),
    PREFIX_AWARE_ID: HeaderMember("PrefixAwareId", 1, 64, PRINTABLE, _printable),
    EXPLANATIONS: HeaderMember("EnableExplanations", 1, 64, ".*", None),
    CONTENT_TYPE: HeaderMember("ContentType", 0, 1024, ANY_ASCII, bytes.isascii),
    ACCEPT: HeaderMember("Accept", 0, 1024, ANY_ASCII, bytes.isascii),
}

_BOUNDS = {header: (member.shortest, member.longest, member.fits) for header, member in MEMBERS.items()}
"""Plain tuples: each header of each request is checked, and their fields are found faster."""


KNOWN_MAX = 512
KNOWN_MAX_BYTES = 2048
"""So many are kept, each of headers of at most so many bytes together: an attribute or an id may differ every time."""


class Invoke:
    """The headers of a request that InvokeEndpoint knows. Requests that have the same ones may share it: `way` is where
    the last of them went (see `Router`)."""

    __slots__ = ("headers", "way")

    def __init__(self, headers: dict[bytes, bytes]) -> None:
        self.headers = headers
        self.way: KnownWay | None = None

    @classmethod
    def read(cls, scope: Scope) -> "Invoke":
        """Take the known headers from the scope of an ASGI request."""
        return cls({name: value for name, value in scope["headers"] if name in MEMBERS})

    def text(self, name: bytes) -> str | None:
        """The header's text. boto3 sends a name beyond ASCII as UTF-8."""
        value = self.headers.get(name)
        return None if value is None else value.decode(errors="surrogateescape")

    def check(self) -> None:
        """Check each header by AWS's service model. Raises a RuntimeFault that names each member with a bad value."""
        for name, value in self.headers.items():
            shortest, longest, fits = _BOUNDS[name]
            if not shortest <= len(value) <= longest or (fits is not None and not fits(value)):
                raise RuntimeFault(Situation.PARAMETER, detail=message(self._violations()))

    def _violations(self) -> list[Violation]:
        return [found for name, value in self.headers.items() for found in violations_of(MEMBERS[name], value)]


class KnownInvokes:
    """The headers of requests that come again and again, by path and headers."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, *tuple[Header, ...]], Invoke] = {}

    def read(self, scope: Scope) -> Invoke:
        """As `Invoke.read`; the same one for requests that have the same path and headers."""
        asked = (scope["path"], *[header for header in scope["headers"] if header[0] in MEMBERS])
        known = self._known.get(asked)
        if known is None:
            known = Invoke.read(scope)
            if sum(map(len, known.headers.values())) <= KNOWN_MAX_BYTES:
                if len(self._known) == KNOWN_MAX:
                    self._known.clear()
                self._known[asked] = known
        return known


def violations_of(member: HeaderMember, value: bytes) -> list[Violation]:
    """The failed constraints of a header's value."""
    found = []
    if len(value) < member.shortest:
        found.append(f"Member must have length greater than or equal to {member.shortest}")
    if len(value) > member.longest:
        found.append(f"Member must have length less than or equal to {member.longest}")
    if member.fits is not None and not member.fits(value):
        found.append(f"Member must satisfy regular expression pattern: {member.pattern}")
    path, text = member.name[:1].lower() + member.name[1:], shown(value.decode(errors="replace"))
    return [Violation(path, text, constraint, sensitive=member.sensitive) for constraint in found]


async def read_body(scope: Scope, receive: Receive, limit_bytes: int) -> tuple[Body, int]:
    """Read the body. Return it with its full size in bytes.

    A body over the limit is read on for up to DRAIN_MAX_BYTES and dropped, so that the caller gets an answer. Raises
    RuntimeFault for a body that is too slow or for which there is no room, and Disconnected if the caller has left.
    """
    chunks: Body = []
    size_bytes, more = await _read_on(receive, chunks, 0, limit_bytes)
    if not more:
        return chunks, size_bytes
    declared = declared_bytes(scope, limit_bytes)
    try:
        async with bodies_of(scope).room(min(declared, limit_bytes)):
            while more and size_bytes <= limit_bytes + DRAIN_MAX_BYTES:
                keep_bytes = limit_bytes if declared <= limit_bytes else 0
                size_bytes, more = await _read_on(receive, chunks, size_bytes, keep_bytes)
    except TooManyBodies as error:
        raise RuntimeFault(Situation.BODIES_FULL) from error
    except TooSlow as error:
        raise RuntimeFault(Situation.BODY_SLOW) from error
    return chunks, size_bytes


async def _read_on(receive: Receive, chunks: Body, size_bytes: int, keep_bytes: int) -> tuple[int, bool]:
    """Read one more piece. Return the size so far, and whether others follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    chunk = message.get("body", b"")
    size_bytes += len(chunk)
    if size_bytes <= keep_bytes:
        chunks.append(chunk)
    else:
        chunks.clear()
    return size_bytes, message.get("more_body", False)

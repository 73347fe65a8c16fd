"""Valid signed requests to each kind of service, and changes that no valid signature survives."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "us-east-1"


@dataclass(frozen=True)
class RawRequest:
    """One request: a target as it is sent, headers in lower case, and a body."""

    name: str
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    def data(self) -> bytes:
        """As it travels."""
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {text}" for name, text in self.headers.items())]
        lines += [f"content-length: {len(self.body)}", "connection: close"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + self.body


def requests(host: str, keys: tuple[str, str]) -> list[RawRequest]:
    """One valid request of each kind."""
    runtime = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": "1.tar"}
    control = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "SageMaker.ListModels"}
    form = {"content-type": "application/x-www-form-urlencoded"}
    found = [
        ("invoke", SigV4Auth, "sagemaker", "POST", "/endpoints/Fixed/invocations", runtime, b"1"),
        ("control", SigV4Auth, "sagemaker", "POST", "/", control, b'{"MaxResults": 5}'),
        ("query", SigV4Auth, "sts", "POST", "/", form, b"Action=GetCallerIdentity&Version=2011-06-15"),
        ("object", S3SigV4Auth, "s3", "PUT", "/fuzzed/a%20key", {}, b"content"),
        ("listing", S3SigV4Auth, "s3", "GET", "/fuzzed?list-type=2&prefix=a", {}, b""),
        ("link", S3SigV4QueryAuth, "s3", "GET", "/fuzzed/there", {}, b""),
    ]
    return [_signed(host, keys, *one) for one in found]


def _signed(
    host: str, keys: tuple[str, str], name: str, kind: type, service: str, method: str, target: str,
    headers: Mapping[str, str], body: bytes,
) -> RawRequest:  # fmt: skip
    request = AWSRequest(method, f"http://{host}{target}", headers={**headers, "host": host}, data=body)
    kind(Credentials(*keys), service, REGION).add_auth(request)
    sent = request.prepare()
    asked = sent.url.removeprefix(f"http://{host}")
    texts = {key.lower(): _text(value) for key, value in sent.headers.items()}
    return RawRequest(name, method, asked, {**texts, "host": host}, body)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


# -- changes ---------------------------------------------------------------------------------------------------------
def changed(request: RawRequest, dice: random.Random) -> RawRequest:
    """The request with one change of something that its signature covers, or of the signature itself."""
    while True:
        made = dice.choice(CHANGES)(request, dice)
        if made is not None and made != request:
            return made


def _bit_of_body(request: RawRequest, dice: random.Random) -> RawRequest | None:
    if not request.body or request.name == "link":  # a link covers no body
        return None
    place = dice.randrange(len(request.body))
    flipped = request.body[place] ^ (1 << dice.randrange(8))
    return replace(request, body=request.body[:place] + bytes([flipped]) + request.body[place + 1 :])


def _length_of_body(request: RawRequest, dice: random.Random) -> RawRequest | None:
    if request.name == "link":
        return None
    return replace(request, body=request.body + dice.randbytes(dice.randint(1, 20)))


def _signature(request: RawRequest, dice: random.Random) -> RawRequest:
    """One digit of the signature."""
    if "authorization" in request.headers:
        return _header(request, "authorization", _digit(request.headers["authorization"], dice))
    return replace(request, target=_digit(request.target, dice))


def _digit(text: str, dice: random.Random) -> str:
    place = len(text) - 1 - dice.randrange(64)
    return text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]


def _signed_header(request: RawRequest, dice: random.Random) -> RawRequest | None:
    names = _names(request)
    if not names:
        return None
    name = dice.choice(names)
    value = request.headers.get(name, "")
    place = dice.randrange(len(value) + 1)
    other = dice.choice("abcdefghijklmnopqrstuvwxyz0123456789")
    return _header(request, name, value[:place] + other + value[place + 1 :])


def _lost_header(request: RawRequest, dice: random.Random) -> RawRequest | None:
    names = [name for name in _names(request) if name != "host"]
    if not names:
        return None
    lost = dice.choice(names)
    return replace(request, headers={name: text for name, text in request.headers.items() if name != lost})


def _added_target(request: RawRequest, dice: random.Random) -> RawRequest | None:
    """A parameter that was not signed."""
    name = dice.choice(["x-amzn-sagemaker-target-variant", "x-amz-meta-more", "x-amz-acl", "x-amz-target"])
    return None if name in request.headers else _header(request, name, "SageMaker.ListEndpoints")


def _path(request: RawRequest, dice: random.Random) -> RawRequest:
    path, mark, query = request.target.partition("?")
    return replace(request, target=path + dice.choice(["x", "/x", "%20", "/../y"]) + mark + query)


def _query(request: RawRequest, dice: random.Random) -> RawRequest:
    mark = "&" if "?" in request.target else "?"
    return replace(request, target=f"{request.target}{mark}{dice.choice(['a=1', 'acl', 'prefix=', 'X-Amz-Date=1'])}")


def _method(request: RawRequest, dice: random.Random) -> RawRequest:
    return replace(request, method=dice.choice([one for one in ("GET", "POST", "DELETE") if one != request.method]))


def _time(request: RawRequest, dice: random.Random) -> RawRequest | None:
    if "x-amz-date" not in request.headers:
        return None
    digits = request.headers["x-amz-date"]
    place = dice.choice([9, 10, 11, 12, 13, 14])
    return _header(request, "x-amz-date", digits[:place] + str((int(digits[place]) + 1) % 10) + digits[place + 1 :])


def _scope(request: RawRequest, dice: random.Random) -> RawRequest | None:
    """Another region, service or day in the credential's scope."""
    if "authorization" not in request.headers:
        return None
    was, now = dice.choice(OTHER_SCOPES)
    return _header(request, "authorization", request.headers["authorization"].replace(was, now, 1))


def _names(request: RawRequest) -> list[str]:
    """The signed headers that are sent."""
    _, found, rest = request.headers.get("authorization", "").partition("SignedHeaders=")
    return [name for name in rest.partition(",")[0].split(";") if name in request.headers] if found else ["host"]


def _header(request: RawRequest, name: str, text: str) -> RawRequest:
    return replace(request, headers={**request.headers, name: text})


OTHER_SCOPES = (("us-east-1", "eu-west-1"), ("/aws4_request", "/aws5_request"), ("/s3/", "/sts/"), ("/20", "/21"))

CHANGES: tuple[Callable[[RawRequest, random.Random], RawRequest | None], ...] = (
    _bit_of_body,
    _length_of_body,
    _signature,
    _signed_header,
    _lost_header,
    _added_target,
    _path,
    _query,
    _method,
    _time,
    _scope,
)

"""The endpoint of a replay, and how one request is sent to it: over pooled connections, and never twice.

It is signed only for an endpoint that verifies its callers.
"""

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from torpor.calling.answer import steps_ms
from torpor.calling.caller_keys import UNVERIFIED
from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import ANSWER_WITHIN_S
from torpor.calling.signature_v4 import SignedPost, Signer
from torpor.errors import EndpointUnreachable
from torpor.pages.data_frames import STEPS
from torpor.replay.replay_result import UNKNOWN

NO_ANSWER = 0
"""The status of a request without an answer."""
CONNECT_WITHIN_S = 10.0
MESSAGE_MAX = 300
"""How many letters of an error's text are kept."""
LOADING = ("wake", "download", "unpack", "load")
"""The steps of a request that did not find its model in memory."""


@dataclass(frozen=True)
class Target:
    """The endpoint to call. With `multi_model`, requests name the trace's models as TargetModel. The answer of an
    `asynchronous` endpoint says that it has the request."""

    connection: EndpointConnection
    endpoint: str
    multi_model: bool = True
    asynchronous: bool = False

    @classmethod
    def found(cls, connection: EndpointConnection, endpoint: str) -> "Target":
        """The endpoint as SageMaker's API describes its first variant. Raises botocore's ClientError."""
        sagemaker = connection.client("sagemaker")
        config = sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
        described = sagemaker.describe_endpoint_config(EndpointConfigName=config)
        model = sagemaker.describe_model(ModelName=described["ProductionVariants"][0]["ModelName"])
        containers = model.get("Containers") or [model["PrimaryContainer"]]
        multi_model = any(one.get("Mode") == "MultiModel" for one in containers)
        return cls(connection, endpoint, multi_model, "AsyncInferenceConfig" in described)


class ReplayAnswer(NamedTuple):
    status: int
    outcome: str
    hit: int
    steps: Mapping[str, float] | None  # in seconds; None without Server-Timing
    message: str = ""  # why it failed


class ReplayPost:
    """Sends invocations to one endpoint, over pooled connections."""

    def __init__(self, target: Target, connections: int) -> None:
        from urllib3 import Timeout, connection_from_url

        url = target.connection.url_of("sagemaker-runtime")
        patience = Timeout(connect=CONNECT_WITHIN_S, read=ANSWER_WITHIN_S)
        trust = {"ca_certs": target.connection.ca_bundle} if target.connection.ca_bundle else {}
        self._pool = connection_from_url(url, maxsize=connections, timeout=patience, **trust)
        operation = "async-invocations" if target.asynchronous else "invocations"
        self._path = f"{urlsplit(url).path}/endpoints/{quote(target.endpoint, safe='')}/{operation}"
        self._multi_model = target.multi_model
        self._keys, self._host = target.connection.keys, urlsplit(url).netloc
        self._signer = Signer(target.connection.region, "sagemaker") if self._keys != UNVERIFIED else None

    def close(self) -> None:
        self._pool.close()

    def headers(self, model: str, content_type: str) -> dict[str, str]:
        """The headers of a request. Non-ASCII names become UTF-8, as in boto3; http.client would use Latin-1."""
        named = {"X-Amzn-SageMaker-Target-Model": model.encode().decode("latin-1")} if self._multi_model else {}
        return {"Content-Type": content_type, **named}

    def send(self, headers: Mapping[str, str], body: bytes) -> ReplayAnswer:
        """Send a request. A failure to get an answer is returned as one too, with the status NO_ANSWER."""
        from urllib3.exceptions import HTTPError

        if self._signer is not None:
            headers = self._signed(self._signer, headers, body)
        try:
            got = self._pool.urlopen("POST", self._path, body=body, headers=headers, retries=False)
        except (HTTPError, OSError, ValueError) as error:
            why = error.__cause__ or error.__context__ or error  # urllib3 wraps the original error
            return ReplayAnswer(NO_ANSWER, type(why).__name__, UNKNOWN, None, _line(str(why)))
        code = got.headers.get("x-amzn-errortype", "").partition(":")[0]
        steps = _steps(got.headers.get("server-timing"))
        hit = UNKNOWN if steps is None else int(not any(step in steps for step in LOADING))
        message = "" if 200 <= got.status < 300 else _message(got.data)
        return ReplayAnswer(got.status, f"{got.status} {code}".strip(), hit, steps, message)

    def _signed(self, signer: Signer, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        """The headers with a signature of this moment, which is of their UTF-8."""
        named = {name.lower(): value.encode("latin-1").decode() for name, value in headers.items()}
        request = SignedPost(self._path, {**named, "host": self._host}, body)
        found = signer.signed(request, self._keys, time.time())
        return {name: value.encode().decode("latin-1") for name, value in found.items()}


def _message(body: bytes) -> str:
    """The message of an error: the model's own, if the answer has it."""
    try:
        answer = json.loads(body)
        found = answer.get("OriginalMessage") or answer.get("Message") or answer.get("message") or ""
    except (ValueError, AttributeError, RecursionError):  # not JSON, or not an object
        found = body[: 4 * MESSAGE_MAX].decode(errors="replace")
    return _line(str(found))


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_MAX else f"{line[:MESSAGE_MAX]}…"


def _steps(server_timing: str | None) -> dict[str, float] | None:
    """Seconds by step. None without a Server-Timing header, or for one of another server."""
    steps = {name: took_ms / 1000 for name, took_ms in steps_ms(server_timing or "").items() if name in STEPS}
    return steps or None


def check_reachable(url: str) -> None:
    """Raises EndpointUnreachable if nothing listens at the URL."""
    parts = urlsplit(url)
    try:
        address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        socket.create_connection(address, CONNECT_WITHIN_S).close()
    except (OSError, ValueError) as error:
        raise EndpointUnreachable(url, error) from error

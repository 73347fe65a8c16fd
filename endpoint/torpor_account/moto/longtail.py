"""Answers services and operations that Torpor does not implement, by moto in this process, without moto's server.

moto keeps its resources in memory: they are lost at a restart, and nothing in this endpoint acts on them. It never
reaches the network.
"""

import asyncio
import importlib
import logging
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from torpor_account.aws.bounds import VALUES_MAX, json_values
from torpor_account.aws.calls import Unanswered, unimplemented
from torpor_account.aws.errors import AwsError, unreadable
from torpor_account.aws.service_models import service_model
from torpor_account.aws.validation import violations
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.aws.wire.scope import region_of
from torpor_account.moto.long_polls import polled
from torpor_account.moto.secret_reads import reads_secrets
from torpor_account.storage.lone_thread import LoneThread
from torpor_container.how_to_install import how_to_install

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

log = logging.getLogger(__name__)

SERVICES = {
    # botocore's name of the service: its host in moto. Only services with JSON or query on one path, and without
    # Docker.
    "cloudwatch": "monitoring.{region}.amazonaws.com",
    "ecr": "api.ecr.{region}.amazonaws.com",
    "events": "events.{region}.amazonaws.com",
    "iam": "iam.amazonaws.com",
    "kinesis": "kinesis.{region}.amazonaws.com",
    "kms": "kms.{region}.amazonaws.com",
    "logs": "logs.{region}.amazonaws.com",
    "secretsmanager": "secretsmanager.{region}.amazonaws.com",
    "sns": "sns.{region}.amazonaws.com",
    "sqs": "sqs.{region}.amazonaws.com",
    "ssm": "ssm.{region}.amazonaws.com",
    "sts": "sts.{region}.amazonaws.com",
}

ADDRESSES = {("sqs", name) for name in ("CreateQueue", "GetQueueUrl", "ListQueues", "ListDeadLetterSourceQueues")}
"""Operations whose answers have URLs that clients call next: the URLs must lead here and not to AWS."""

SUBSCRIBERS = ("sqs", "email", "email-json", "sms", "application")
"""Protocols of SNS subscriptions that stay in memory. For the others moto would use the network or Docker."""

Ask = Callable[["AWSPreparedRequest"], tuple[int, Mapping[str, str], str | bytes] | None]
Has = Callable[[str, str], bool]
"""Whether moto has a handler of a service's operation."""

NO_OUTPUT = b"null"
"""What moto writes for the outcome None of an operation that was done and that answers with nothing."""


def moto_has(service: str, operation: str) -> bool:
    """Whether moto has a handler of this operation. Raises ImportError if moto is not installed."""
    from moto.core.utils import camelcase_to_underscores, method_names_from_class

    (dispatch, *_) = importlib.import_module(f"moto.{service}.urls").url_paths.values()
    return camelcase_to_underscores(operation) in method_names_from_class(dispatch.__self__)


def moto(request: "AWSPreparedRequest") -> tuple[int, Mapping[str, str], str | bytes] | None:
    """Call moto's handlers directly. Raises ImportError if moto is not installed. The import takes half a second."""
    from moto.core.botocore_stubber import BotocoreStubber
    from moto.core.config import default_user_config

    default_user_config["iam"]["load_aws_managed_policies"] = True  # AmazonSageMakerFullAccess and its like
    answer: tuple[int, Mapping[str, str], str | bytes] | None = BotocoreStubber().process_request(request)
    return answer


class LongTail:
    """moto in one thread of its own, since its handlers are not thread-safe. The thread starts with the first call."""

    def __init__(self, account: str, ask: Ask = moto, has: Has = moto_has) -> None:
        self._account = account
        self._ask = ask
        self._has = has
        self._thread = LoneThread("long-tail")
        self._asked: set[str] = set()

    def close(self) -> None:
        """Stop without waiting for a running call."""
        self._thread.shutdown()

    def asked(self, service: str) -> bool:
        """Whether anybody has called this service. If not, it holds nothing: what moto keeps ends with the process."""
        return service in self._asked

    async def answer(self, service: str, operation: str, request: AwsRequest) -> Response:
        """An `Otherwise`. Raises Unanswered, before moto is called, if moto lacks the operation or is not installed."""
        if service not in SERVICES:
            raise unimplemented(service, operation)
        self._asked.add(service)
        if (service, operation) == ("sqs", "ReceiveMessage"):
            return await polled(partial(self._in_thread, service), request)
        return await self._in_thread(service, operation, request)

    async def _in_thread(self, service: str, operation: str, request: AwsRequest) -> Response:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._answered, service, operation, request)

    def _answered(self, service: str, operation: str, request: AwsRequest) -> Response:
        from torpor_account.aws.service import check_access, rights_of
        from torpor_account.moto.plain_calls import plain_call

        try:
            known = self._has(service, operation)
        except ImportError as missing:
            raise Unanswered(_not_installed(service, operation, missing)) from missing
        if not known:
            raise unimplemented(service, operation)
        plain = plain_call(service, operation, request)
        if (service, operation) == ("sns", "Subscribe"):
            _check_subscriber(plain)
        _check_bounds(plain)
        _check_required(service, operation, plain)
        if request.access is not None and reads_secrets(service, operation, plain.body):
            check_access(request.access, "secretsmanager", "GetSecretValue", None, rights_of("secretsmanager"))
        origin = "https://" + SERVICES[service].format(region=region_of(request.headers, request.query))
        try:
            answer = self._ask(self._prepared(origin, plain))
        except NotImplementedError:  # a handler that does nothing but raise this
            raise unimplemented(service, operation) from None
        except ImportError as missing:
            raise Unanswered(_not_installed(service, operation, missing)) from missing
        except Exception as failure:  # outer edge to moto: any fault of its handlers fails this one call
            log.exception("moto failed at %s of %s", operation, service)
            raise _failed(service, operation, repr(failure)) from failure
        if answer is None or not _is_answer(answer[0], answer[1], _bytes(answer[2])):
            raise _failed(service, operation, "its answer has no form of AWS")
        status, headers, body = answer[0], answer[1], _bytes(answer[2])
        if body in (b"", NO_OUTPUT):
            body = _nothing(service, operation, plain)
        if (service, operation) in ADDRESSES and "host" in request.headers:
            body = body.replace(origin.encode(), f"{request.scheme}://{request.headers['host']}".encode())
        return Response(status, body, _headers(headers, plain))

    def _prepared(self, origin: str, plain: AwsRequest) -> "AWSPreparedRequest":
        from botocore.awsrequest import AWSPreparedRequest
        from botocore.compat import HTTPHeaders

        headers = HTTPHeaders()
        for name, value in plain.headers.items():
            headers[name] = value
        headers["x-moto-account-id"] = self._account
        url = origin + plain.path + (f"?{plain.query}" if plain.query else "")
        return AWSPreparedRequest(plain.method, url, headers, plain.body, False)


def _check_bounds(request: AwsRequest) -> None:
    """Bound a JSON body: nothing else runs while moto parses it. `wire.query` bounds forms."""
    if json_values(request.body) > VALUES_MAX and "json" in request.headers.get("content-type", ""):
        raise unreadable(f"The request body has more than {VALUES_MAX} values.")


def _check_required(service: str, operation: str, plain: AwsRequest) -> None:
    """Raises the service's error for a call that lacks a required member, on which moto's handlers fail."""
    from torpor_account.aws.service import refusal
    from torpor_account.aws.wire.protocols import protocol_of
    from torpor_account.aws.wire.query import Query

    model, protocol = service_model(service), protocol_of(plain)
    called = model.operation_model(operation)
    shape = called.input_shape
    if shape is None or (isinstance(protocol, Query) and "query" not in model.metadata["protocols"]):
        return  # the model of SQS has no names for its earlier forms
    missing = [found for found in violations(protocol.params(plain, shape), shape) if found.missing]
    if missing:
        raise refusal(missing, called)


def _check_subscriber(plain: AwsRequest) -> None:
    protocol = parse_qs(plain.body.decode()).get("Protocol", [""])[0]
    if protocol and protocol not in SUBSCRIBERS:
        reason = f"Torpor delivers no message by {protocol}, only to: {', '.join(SUBSCRIBERS)}"
        raise AwsError("InvalidParameter", 400, f"Invalid parameter: Protocol Reason: {reason}")


def _not_installed(service: str, operation: str, missing: ImportError) -> str:
    reason = f"Torpor leaves the operation {operation} of {service} to moto, which is not installed"
    return f"{reason} ({missing}): {how_to_install('moto')}"


def _failed(service: str, operation: str, why: str) -> AwsError:
    """The call may have been done: it is no unknown operation. It is a 4xx, because clients send a call again after a
    5xx, and moto would do it again."""
    return AwsError("InternalFailure", 400, f"moto failed at the operation {operation} of {service}: {why}")


def _nothing(service: str, operation: str, plain: AwsRequest) -> bytes:
    """An answer without members, in the form of its protocol: a client of the query protocol needs XML."""
    from torpor_account.aws.wire.protocols import protocol_of

    return protocol_of(plain).answer(service_model(service).operation_model(operation), {}, str(uuid.uuid4())).body


def _is_answer(status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether it is an answer. moto reports a fault of its own by an exception, a 500, an HTML page or plain text."""
    return (
        status < 500 and "html" not in _content_type(headers) and (body[:1] in (b"", b"{", b"<") or body == NO_OUTPUT)
    )


def _headers(headers: Mapping[str, str], request: AwsRequest) -> dict[str, str]:
    """The answer's headers. moto gives many JSON answers no content type, or `text`: the request's is used then."""
    requested, answered = request.headers.get("content-type", ""), _content_type(headers)
    given = {name.lower(): str(value) for name, value in headers.items() if name.lower().startswith("x-am")}
    content_type = requested if "json" in requested else answered if "/" in answered else "text/xml"
    return {**given, "content-type": content_type}


def _content_type(headers: Mapping[str, str]) -> str:
    return next((str(value) for name, value in headers.items() if name.lower() == "content-type"), "")


def _bytes(body: str | bytes | None) -> bytes:
    return body.encode() if isinstance(body, str) else body or b""

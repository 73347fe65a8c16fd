"""Lists the runtime API's errors in one table, from the situation to the code, the status and the text.

The texts are AWS's own as observed, because code of users matches them. Where no text of AWS is known, Torpor's text
says what to do. The runtime has `ValidationError` where the control plane has `ValidationException`: both are HTTP 400.
"""

import json
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from torpor_account.aws.errors import DATABASE_AWAY
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_container.wire import Fault
from torpor_endpoint.core.sending.machine import CUSTOM_ATTRIBUTES, FAULT, HOP_OVERSIZE

MESSAGE_MAX = 2048
"""The most characters of a message. Only the quoted part is cut."""
ORIGINAL_MAX = 1024 * 1024
"""The most characters of an error body that are kept. AWS has such a limit too, and does not document its size."""
_VISIBLE = re.compile(rb"[\t -~]*").fullmatch


class Situation(Enum):
    """Every way in which an invocation can fail: code, HTTP status, the undocumented ErrorCode, and the text."""

    ENDPOINT_UNKNOWN = ("ValidationError", 400, None, "Endpoint {endpoint} of account {account} not found.")
    TARGET_MISSING = (
        "ValidationError",
        400,
        None,
        "Request {request_id} is missing a target model header. "
        "Please add the X-Amzn-SageMaker-Target-Model header (TargetModel) and try again.",
    )
    TARGET_NOT_SUPPORTED = (
        "ValidationError",
        400,
        "TARGET_MODEL_HEADER_NOT_SUPPORTED",
        "Endpoint {endpoint} is not a multi-model endpoint and does not support target model header.",
    )
    VARIANT_UNKNOWN = (
        "ValidationError",
        400,
        None,
        "Endpoint {endpoint} has no production variant {variant}: choose one of {variants}.",
    )
    PARAMETER = ("ValidationError", 400, None, "{detail}")
    OVERSIZE_SERVERLESS = ("ValidationError", 400, None, "Request {request_id} has oversize body.")
    OVERSIZE = (None, 413, None, "HTTP content length exceeded {limit} bytes.")
    NO_CAPACITY = (
        "ValidationError",
        400,
        None,
        "Production variant {variant} of endpoint {endpoint} has no capacity to process this request. "
        "ApplicationAutoScaling may be in-progress (if configured) or try to increase the capacity.",
    )
    COMPONENT_MISSING = (
        "ValidationError",
        400,
        None,
        "Inference Component Name header is required for endpoints to which you plan to deploy inference components. "
        "Please include Inference Component Name header or consider using SageMaker models.",
    )
    COMPONENT_NOT_ALLOWED = (
        "ValidationError",
        400,
        None,
        "Inference Component Name header is not allowed for endpoints to which you dont plan to deploy inference "
        "components. Please remove the Inference Component Name header and try again.",
    )
    COMPONENT_UNKNOWN = (
        "ValidationError",
        400,
        None,
        "Inference Component {component} of endpoint {endpoint} of account {account} not found.",
    )
    COMPONENT_NO_CAPACITY = (
        "ValidationError",
        400,
        None,
        "Inference Component has no capacity to process this request. ApplicationAutoScaling may be in-progress (if "
        "configured) or try to increase the capacity by invoking UpdateInferenceComponentRuntimeConfig API.",
    )
    THROTTLED = ("ThrottlingException", 400, None, None)
    DENIED = ("AccessDeniedException", 403, None, "{detail}")
    NOT_READY = ("ModelNotReadyException", 429, None, "{detail}")
    UNAVAILABLE = ("ServiceUnavailable", 503, None, "{detail}")
    HOLD_FULL = (
        "ServiceUnavailable",
        503,
        None,
        "{held} requests wait for endpoint {endpoint} already: try again later.",
    )
    BODIES_FULL = ("ServiceUnavailable", 503, None, "Too many request bodies are unfinished: try again later.")
    BODY_SLOW = ("RequestTimeout", 408, None, "The body of request {request_id} did not arrive in time.")
    DEPENDENCY = ("InternalDependencyException", 530, None, "{detail}")
    MODEL_CLIENT = (
        "ModelError",
        424,
        "CLIENT_ERROR_FROM_MODEL",
        'Received client error ({status}) from {container} with message "{original}". {see}',
    )
    MODEL_SERVER = (
        "ModelError",
        424,
        "INTERNAL_FAILURE_FROM_MODEL",
        'Received server error ({status}) from {container} with message "{original}". {see}',
    )
    MODEL_UNKEPT = (
        "ModelError",
        424,
        "INTERNAL_FAILURE_FROM_MODEL",
        "Received server error ({status}) from {container} and could not load the entire response body. {see}",
    )
    MODEL_CLIENT_UNKEPT = (
        "ModelError",
        424,
        "CLIENT_ERROR_FROM_MODEL",
        "Received client error ({status}) from {container} and could not load the entire response body. {see}",
    )
    HOP_OVERSIZE = (
        "ModelError",
        424,
        "INTERNAL_FAILURE_FROM_MODEL",
        HOP_OVERSIZE,
    )
    DATABASE_AWAY = ("InternalFailure", 500, None, DATABASE_AWAY)
    NOT_IMPLEMENTED = ("UnknownOperationException", 400, None, "Torpor does not implement {detail}.")
    INTERNAL = ("InternalFailure", 500, None, "The request processing has failed because of an unknown error.")

    def __init__(self, code: str | None, status: int, error_code: str | None, text: str | None) -> None:
        self.code = code
        self.status = status
        self.error_code = error_code
        self.text = text


TIMED_OUT = (
    "Your invocation timed out while waiting for a response from container {container}. "
    "Review the latency metrics for each container in Amazon CloudWatch, resolve the issue, and try again."
)
ATTRIBUTES = (
    "Response received from the {container} container has custom attributes of {size} bytes that cannot be returned: "
    "they must be no more than {limit} visible US-ASCII characters. Change what your container sets, and try again."
)
"""Torpor's own text, like AWS's for headers of more than 4096 bytes."""
ATTRIBUTES_MAX_BYTES = 1024
NO_RESPONSE = (
    "Amazon SageMaker could not get a response from the {endpoint} endpoint. This can occur when CPU or memory "
    "utilization is high. To check your utilization, see Amazon CloudWatch. To fix this problem, use an instance type "
    "with more CPU capacity or memory."
)

FAULTS: dict[Fault, Situation] = {
    Fault.TARGET_MISSING: Situation.TARGET_MISSING,
    Fault.TARGET_FORBIDDEN: Situation.PARAMETER,
    Fault.ARTIFACT_MISSING: Situation.PARAMETER,
    Fault.ARTIFACT_INVALID: Situation.PARAMETER,
    Fault.STORE_UNREACHABLE: Situation.DEPENDENCY,
    Fault.MACHINE_FAILED: Situation.DEPENDENCY,
    Fault.NOT_READY: Situation.NOT_READY,
    Fault.ABSENT: Situation.NOT_READY,
}
"""The situation for each fault of an instance. Each other fault is the model's: ModelError with its status."""


class RuntimeFault(Exception):
    """One failed invocation, with the values that its text needs."""

    def __init__(
        self,
        situation: Situation,
        *,
        original: tuple[int, str] | None = None,
        steps: Mapping[str, float] = MappingProxyType({}),
        **fields: object,
    ) -> None:
        """`original` is the status and body of the model's answer. `steps` are the waits of the request, in seconds."""
        super().__init__(situation.name)
        self.timed_out = False
        """Whether a container did not answer in time."""
        self.cause: Fault | None = None
        """The fault of an instance that led to it, if one told it."""
        self.situation = situation
        self.original = original
        self.steps = steps
        self.fields = fields


class ErrorPlace(NamedTuple):
    """The place of the failure, for the texts. `console`: they send their reader to AWS's console, as AWS's texts do."""

    endpoint: str
    account: str
    region: str
    request_id: str = ""
    container: str = "primary"
    console: bool = False

    @property
    def log_group(self) -> str:
        return f"/aws/sagemaker/Endpoints/{self.endpoint}"

    @property
    def see(self) -> str:
        if not self.console:
            return f"See `torpor logs {self.endpoint}` or the log group {self.log_group} for more information."
        console = f"https://{self.region}.console.aws.amazon.com/cloudwatch/home?region={self.region}"
        return f"See {console}#logEventViewer:group={self.log_group} in account {self.account} for more information."


def from_answer(answer: UpstreamAnswer, place: ErrorPlace) -> RuntimeFault:
    """The caller's error for an instance's answer that is no success."""
    fault = answer.header(FAULT)
    if fault is None:
        return model_error(answer.status, answer.body.decode("utf-8", "replace"))
    message = json.loads(answer.body)["message"]
    told = Fault(fault.decode())
    situation = FAULTS.get(told)
    if situation is not None:
        refused = RuntimeFault(situation, detail=message)
        refused.cause = told
        return refused
    if fault == Fault.TIMED_OUT.value.encode():
        return timed_out(place)
    return model_error(answer.status, message)


def model_error(status: int, original: str) -> RuntimeFault:
    """The error for a container's answer that is no success. `status` is 0 if it gave no answer."""
    kept, clients = len(original) <= ORIGINAL_MAX, 400 <= status < 500
    if kept:
        situation = Situation.MODEL_CLIENT if clients else Situation.MODEL_SERVER
    else:
        situation = Situation.MODEL_CLIENT_UNKEPT if clients else Situation.MODEL_UNKEPT
    return RuntimeFault(situation, original=(status, original if kept else original[:MESSAGE_MAX]), status=status)


def timed_out(place: ErrorPlace) -> RuntimeFault:
    """The error for a container that did not answer in time."""
    fault = model_error(0, TIMED_OUT.format(container=place.container))
    fault.timed_out = True
    return fault


def no_response(place: ErrorPlace) -> RuntimeFault:
    """The error for a container whose connection broke."""
    return model_error(0, NO_RESPONSE.format(endpoint=place.endpoint))


def check_attributes(headers: Iterable[tuple[bytes, bytes]], place: ErrorPlace) -> None:
    """Raises RuntimeFault for a container's custom attributes that no answer can have.

    AWS, InvokeEndpoint: "The value must consist of no more than 1024 visible US-ASCII characters".
    """
    for name, value in headers:
        if name == CUSTOM_ATTRIBUTES and (len(value) > ATTRIBUTES_MAX_BYTES or _VISIBLE(value) is None):
            text = ATTRIBUTES.format(container=place.container, size=len(value), limit=ATTRIBUTES_MAX_BYTES)
            raise model_error(0, text)


def wire_form(fault: RuntimeFault, place: ErrorPlace) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """The status, headers and body of the error, as AWS sends them."""
    situation = fault.situation
    message = message_of(fault, place)
    headers = [(b"content-type", b"application/json")]
    if situation.code is None:  # AWS refuses such a body before any service sees it: no error type
        return situation.status, [(b"content-type", b"text/plain")], (message or "").encode()
    headers.append((b"x-amzn-errortype", f"{situation.code}:".encode()))
    return situation.status, headers, json.dumps(_members(fault, place, message)).encode()


def message_of(fault: RuntimeFault, place: ErrorPlace) -> str | None:
    """The message. It cuts the quoted original to stay within MESSAGE_MAX, and never the sentence around it."""
    text = fault.situation.text
    if text is None:
        return None
    known = {**place._asdict(), "see": place.see, "original": "", **fault.fields}
    if fault.original is None:
        return text.format(**known)
    room = max(0, MESSAGE_MAX - len(text.format(**known)))
    return text.format(**{**known, "original": fault.original[1][:room]})


def _members(fault: RuntimeFault, place: ErrorPlace, message: str | None) -> dict[str, object]:
    members: dict[str, object] = {"message" if message is None else "Message": message}
    if fault.situation.error_code:
        members["ErrorCode"] = fault.situation.error_code
    if fault.original is not None:
        members["OriginalStatusCode"], members["OriginalMessage"] = fault.original
        members["LogStreamArn"] = f"arn:aws:logs:{place.region}:{place.account}:log-group:{place.log_group}"
    return members

"""Parses an InvokeEndpointAsync request: its headers, checked by AWS's service model, become an `AsyncRequest`."""

from itertools import chain

from torpor_account.aws.validation import Violation, message, shown
from torpor_account.aws.wire.asgi import Scope
from torpor_account.core.s3_address import NoS3Address, s3_url
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.async_inference.requests import (
    TIMEOUT_S,
    TTL_S,
    AsyncRequest,
    Naming,
    failure_of,
    output_of,
)
from torpor_endpoint.core.resource_records import AsyncInference
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.request import INFERENCE_ID, HeaderMember, Invoke, like, violations_of

BODY_MAX_BYTES = 128_000
DIGITS_MAX = 9
INPUT_LOCATION = b"x-amzn-sagemaker-inputlocation"
TTL = b"x-amzn-sagemaker-requestttlseconds"
TIMEOUT = b"x-amzn-sagemaker-invocationtimeoutseconds"
EXTENSION = b"x-amzn-sagemaker-s3outputpathextension"
FILENAME = b"x-amzn-sagemaker-filename"
MEMBERS_OF_INVOKE = {b"x-amzn-sagemaker-content-type": CONTENT_TYPE, b"x-amzn-sagemaker-accept": ACCEPT}


OWN_MEMBERS: dict[bytes, HeaderMember] = {
    INPUT_LOCATION: HeaderMember(
        "InputLocation", 1, 1024, "^(https|s3)://([^/]+)/?(.*)$", like(rb"(https|s3)://([^/]+)/?(.*)")
    ),
    EXTENSION: HeaderMember(
        "S3OutputPathExtension",
        1,
        512,
        "^(?!s3:|https:)[a-zA-Z0-9!_.*'()/-]+$",
        like(rb"(?!s3:|https:)[a-zA-Z0-9!_.*'()/-]+"),
    ),
    FILENAME: HeaderMember(
        "Filename",
        1,
        32,
        r"^(?!.*\..*\.)[a-zA-Z0-9][a-zA-Z0-9-_\.]*$",
        like(rb"(?!.*\..*\.)[a-zA-Z0-9][a-zA-Z0-9\-_.]*"),
    ),
}
"""A test holds this table against botocore's service model of sagemaker-runtime."""

NUMBERS = {TTL: ("RequestTTLSeconds", 60, 21_600), TIMEOUT: ("InvocationTimeoutSeconds", 1, 3_600)}


def parse_async(scope: Scope) -> Invoke:
    """The headers that InvokeEndpoint has too. ContentType and Accept travel under other names here."""
    headers = {
        name: value for name, value in Invoke.read(scope).headers.items() if name not in MEMBERS_OF_INVOKE.values()
    }
    for name, value in scope["headers"]:
        if name in MEMBERS_OF_INVOKE:
            headers[MEMBERS_OF_INVOKE[name]] = value
    return Invoke(headers)


@frozen
class AsyncParameters:
    """What InvokeEndpointAsync has beside InvokeEndpoint."""

    input: str | None
    naming: Naming
    ttl_s: int
    timeout_s: int

    @classmethod
    def read(cls, scope: Scope, body_bytes: int) -> "AsyncParameters":
        """Raises RuntimeFault for the values that AWS's service model refuses, and unless there is one input."""
        given = dict(scope["headers"])
        found = [violations_of(member, given[name]) for name, member in OWN_MEMBERS.items() if name in given]
        own = {name: given[name].decode(errors="replace") for name in OWN_MEMBERS if name in given}
        numbers = {name: given.get(name, b"").decode(errors="replace") for name in NUMBERS}
        violations = [*chain.from_iterable(found), *_of_numbers(numbers)]
        if violations:
            raise RuntimeFault(Situation.PARAMETER, detail=message(violations))
        if (INPUT_LOCATION in own) == (body_bytes > 0):
            what = "both" if body_bytes else "neither"
            detail = f"The request needs either InputLocation or Body as its input, and has {what}."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        location, extension = own.get(INPUT_LOCATION), own.get(EXTENSION)
        if extension is not None and not {".", ".."}.isdisjoint(extension.split("/")):
            raise RuntimeFault(Situation.PARAMETER, detail="S3OutputPathExtension has a '.' or '..' segment.")
        return cls(
            None if location is None else _address(location),
            Naming(extension, own.get(FILENAME)),
            int(numbers[TTL] or TTL_S),
            int(numbers[TIMEOUT] or TIMEOUT_S),
        )

    def request(
        self,
        id: str,
        invoke: Invoke,
        config: AsyncInference,
        endpoint: str,
        variant: str,
        target: str | None,
        body: bytes,
        now_s: float,
    ) -> AsyncRequest:
        """The record of the request that this call makes."""
        return AsyncRequest(
            id=id,
            inference_id=invoke.text(INFERENCE_ID) or id,
            endpoint=endpoint,
            variant=variant,
            received_s=now_s,
            expires_s=now_s + self.ttl_s,
            timeout_s=float(self.timeout_s),
            output=output_of(config, id, self.naming),
            config=config,
            failure=failure_of(config, id, self.naming),
            input=self.input,
            target=target,
            headers={name.decode(): value.decode("latin-1") for name, value in invoke.headers.items()},
            body=None if self.input is not None else body,
        )


def _address(location: str) -> str:
    """The input's address as s3://bucket/key. Raises RuntimeFault."""
    try:
        found = s3_url(location)
    except NoS3Address as error:
        raise RuntimeFault(Situation.PARAMETER, detail=f"InputLocation {location}: {error}.") from None
    if not found.removeprefix("s3://").partition("/")[2]:
        raise RuntimeFault(Situation.PARAMETER, detail=f"InputLocation {location} names a bucket, and no object in it.")
    return found


def _of_numbers(values: dict[bytes, str]) -> list[Violation]:
    found = []
    for name, value in values.items():
        member, least, most = NUMBERS[name]
        path = member[:1].lower() + member[1:]
        if not value:
            continue
        if not value.isdecimal() or (len(value) <= DIGITS_MAX and int(value) < least):
            found.append(Violation(path, shown(value), f"Member must have value greater than or equal to {least}"))
        elif len(value) > DIGITS_MAX or int(value) > most:
            found.append(Violation(path, shown(value), f"Member must have value less than or equal to {most}"))
    return found

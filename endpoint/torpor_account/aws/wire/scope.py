"""Finds the AWS service and the region of a request on the one port, by its signature, path and headers."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qs

from torpor_container.frozen_class import frozen

DEFAULT_REGION = "us-east-1"

FORM = "application/x-www-form-urlencoded"

UNSIGNED_FORM = "unsigned-form"
"""In place of a service's name: an unsigned form, such as AssumeRoleWithWebIdentity, whose body names the service."""

MISDIRECTED = "misdirected"
"""In place of a service's name: the request is signed for one service and calls an operation of another, or of none."""

UNSERVED = "unserved"
"""In place of a service's name: the request is signed for a name that no service is signed for."""

NO_SERVICES = frozenset((UNSIGNED_FORM, MISDIRECTED, UNSERVED))

RUNTIME_PATH = re.compile(r"/endpoints/.+/(invocations|async-invocations|invocations-response-stream)")
CREDENTIAL = re.compile(r"Credential=([^,\s]+)")


@frozen
class Address:
    """How requests name one service, which botocore calls `service`."""

    service: str
    signed_as: tuple[str, ...] = ()
    """The names in its signatures, where they are others than botocore's name alone; the first is the usual one."""
    target: str | None = None
    """The part before the operation in X-Amz-Target, or after /service/ in the path of a CBOR call."""
    version: str | None = None
    """The version of its API, by which a query call names it."""
    paths: re.Pattern[str] | None = None
    """The paths that are its own, signed as `sagemaker` or not signed: that of a protocol which is not AWS's."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names in its signatures."""
        return self.signed_as or (self.service,)


class Addresses:
    """The services that requests can name. `targets` and `versions` lead to botocore's name of the service."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        known = tuple(addresses)
        self._signed_as: dict[str, str] = {}
        for one in known:
            for name in one.names:
                self._signed_as.setdefault(name, one.service)  # SageMaker's services share a name: see `_sagemaker`
        self._signing_names = {one.service: one.names[0] for one in known}
        self._nowhere = {one.service for one in known} - self._signed_as.keys() | NO_SERVICES
        self._by_path = [(one.paths, one.service) for one in known if one.paths is not None]
        self.targets = {one.target: one.service for one in known if one.target is not None}
        self.versions = {one.version: one.service for one in known if one.version is not None}

    def service_of(self, method: str, path: str, headers: Mapping[str, str], query: str = "") -> str:
        """botocore's name of the service, or one of NO_SERVICES. `path` is decoded, `query` is not.

        It reads the headers authorization, content-type, smithy-protocol and x-amz-target, by lower-case name. A
        request that no other service matches goes to S3, whose requests may be unsigned and may have any path.
        """
        signed = signed_for(headers, query)
        if signed is None or signed == "sagemaker":
            for paths, service in self._by_path:
                if paths.fullmatch(path):
                    return service
        if signed is None:
            return self._unsigned(method, path, headers, query)
        if signed in self._nowhere:
            return UNSERVED
        service = _sagemaker(method, path) if signed == "sagemaker" else self._signed_as.get(signed, signed)
        return MISDIRECTED if self._elsewhere(service, target_of(path, headers)) else service

    def signing_name(self, service: str) -> str:
        """The service's name in signatures."""
        return self._signing_names.get(service, service)

    def _elsewhere(self, service: str, target: str) -> bool:
        known = service in self.targets.values() or target in self.targets
        return bool(target) and known and self.targets.get(target) != service

    def _unsigned(self, method: str, path: str, headers: Mapping[str, str], query: str) -> str:
        target = target_of(path, headers)
        if target:
            return self.targets.get(target, MISDIRECTED)
        if path == "/" and (_is_form(method, headers) or "Action=" in query):
            return self.versions.get(parse_qs(query).get("Version", [""])[0], UNSIGNED_FORM)
        # A POST to an S3 object belongs to a multipart upload, and its query says so.
        return "sagemaker-runtime" if "upload" not in query and _is_runtime(method, path) else "s3"


def region_of(headers: Mapping[str, str], query: str = "", otherwise: str = DEFAULT_REGION) -> str:
    """The region that the request was signed for."""
    parts = _credential(headers, query)
    return parts[2] if len(parts) == 5 and parts[2] else otherwise


def _credential(headers: Mapping[str, str], query: str) -> list[str]:
    """`KEY/DATE/REGION/SERVICE/aws4_request`; SigV4A has no region."""
    found = CREDENTIAL.search(headers.get("authorization", ""))
    if found:
        return found[1].split("/")
    if "X-Amz-Credential=" in query:
        return parse_qs(query).get("X-Amz-Credential", [""])[0].split("/")
    return []


def signed_for(headers: Mapping[str, str], query: str = "") -> str | None:
    """The service in the signature, by its signing name; None for a request that nobody signed."""
    parts = _credential(headers, query)
    if len(parts) >= 4:
        return parts[-2]
    sigv2 = headers.get("authorization", "").startswith("AWS ") or "AWSAccessKeyId=" in query
    return "s3" if sigv2 else None


def target_of(path: str, headers: Mapping[str, str]) -> str:
    """The name that a JSON or CBOR call gives its service; the target of an Address if Torpor serves it."""
    if path.startswith("/service/") and "smithy-protocol" in headers:
        return path.split("/")[2]
    target = headers.get("x-amz-target", "")
    return target.rpartition(".")[0] or target


def media_type(headers: Mapping[str, str]) -> str:
    """The content type without its parameters, in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _sagemaker(method: str, path: str) -> str:
    """The control plane, the runtime and the metrics service sign with one name."""
    if _is_runtime(method, path):
        return "sagemaker-runtime"
    return "sagemaker-metrics" if path.startswith("/BatchPutMetrics") else "sagemaker"


def _is_runtime(method: str, path: str) -> bool:
    """Whether it is an invocation. A GET or HEAD is none: it must wake and load nothing."""
    return method == "POST" and RUNTIME_PATH.fullmatch(path) is not None


def _is_form(method: str, headers: Mapping[str, str]) -> bool:
    """Whether it is a form of the query protocol. The forms that browsers post to S3 are `multipart/form-data`."""
    return method == "POST" and media_type(headers) == FORM

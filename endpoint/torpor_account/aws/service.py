"""Serves one AWS service as an ASGI application: dispatch, validation and errors around a table of operations."""

import asyncio
import inspect
import json
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torpor_account.aws.calls import Answer, Call, Guard, NotOurs, Operation, Otherwise, Unanswered, unimplemented
from torpor_account.aws.descriptors import retry_for_descriptors
from torpor_account.aws.errors import AwsError, database_away, internal_failure, too_large
from torpor_account.aws.methods import check_method
from torpor_account.aws.off_loop import off_loop
from torpor_account.aws.service_models import OperationModel, ServiceModel, service_model
from torpor_account.aws.validation import Violation, message, violations
from torpor_account.aws.wire import tokens
from torpor_account.aws.wire.asgi import (
    AwsRequest,
    Disconnected,
    Receive,
    Response,
    Scope,
    Send,
    body_of,
    opened,
    sent,
    until_disconnected,
)
from torpor_account.aws.wire.protocols import WireProtocol, protocol_of
from torpor_account.aws.wire.pruning import pruned
from torpor_account.aws.wire.scope import region_of
from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.log_lines import LogFields, about

if TYPE_CHECKING:
    from torpor_account.core.access.needs import CallerAccess
    from torpor_account.core.access.rights.right_rows import Rights

BODY_LIMIT_BYTES = 1 << 20

OTHERS_BODY_LIMIT_BYTES = 8 << 20
"""For operations that `Otherwise` answers: Kinesis takes 5 MiB in one call, which are 7 MiB in base64."""

VIOLATIONS_MAX = 1_000
"""The most failed constraints of one call that are counted."""

log = logging.getLogger(__name__)
audit = logging.getLogger("torpor_endpoint.audit")
READS = ("BatchGet", "Describe", "Filter", "Get", "List", "Search")
"""How the names of operations begin that change nothing: clients ask for a status again and again."""
TAG_MEMBERS = frozenset(("Tags", "tags", "TagKeys", "tagKeys"))
"""The members of calls that give or remove tags."""

NAMING_MAX_BYTES = 64 * 1024
"""A longer body is not read for the names of its operation and endpoint."""

C = TypeVar("C")

ITEM = re.compile(r"\.(\d+)\.member")
"""The place of an item of a list in the path of a violation."""

NO_GUARDS: Mapping[str, Any] = MappingProxyType({})


class Service(Generic[C]):
    """An ASGI application that answers `operations` of the AWS service that botocore calls `name`.

    An `async def` operation is awaited on the event loop; a plain function runs in a worker thread. An answer leaves
    out nulls and empty optional members, except those in `kept`. The caller gets an operation's `AwsError` in its own
    protocol; any other exception is logged and answered as InternalFailure, that of a database in words of its own.
    `otherwise` answers the operations that botocore's model has and `operations` lacks, and those that raise `NotOurs`;
    a guard may refuse such a call. `rights` gives the rows of the operations, for callers who are verified; without it
    they are those of the account. A request whose body is longer than `body_limit_bytes` is refused.
    """

    def __init__(
        self,
        name: str,
        context: C,
        operations: Mapping[str, Operation[C]],
        *,
        account: str,
        kept: Collection[str] = (),
        otherwise: Otherwise | None = None,
        guards: Mapping[str, Guard[C]] = NO_GUARDS,
        rights: "Callable[[], Rights] | None" = None,
        body_limit_bytes: int | None = None,
    ) -> None:
        """`body_limit_bytes`: None for what the service's own operations take, or others' where `otherwise` answers."""
        self.name = name
        self._context = context
        self._operations = operations
        self._account = account
        self._kept = kept
        self._otherwise = otherwise
        self._guards = guards
        self._rights = partial(rights_of, name) if rights is None else rights
        by_default = BODY_LIMIT_BYTES if otherwise is None else OTHERS_BODY_LIMIT_BYTES
        self._body_limit_bytes = by_default if body_limit_bytes is None else body_limit_bytes

    @cached_property
    def model(self) -> ServiceModel:
        """botocore's service model. It is loaded on first use, which takes some 100 ms."""
        return service_model(self.name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, request_id = opened(scope), str(uuid.uuid4())
        if "model" not in vars(self):
            await retry_for_descriptors(lambda: self.model)
        protocol = protocol_of(request)
        error_type: str | None = None
        try:
            body = await body_of(request, scope, receive, self._body_limit_bytes)
            request = replace(request, body=body)
            response = await self._answered(protocol, request, request_id, receive)
        except Disconnected:
            return
        except AwsError as error:
            error_type = error.code
            response = protocol.error(error, self.model, request_id)
        except RecordsFault as fault:
            known, operation = about(request_id=request_id, service=self.name), protocol.operation(request)
            if not fault.told:
                log.error("%s %s failed, request %s: %s", self.name, operation, request_id, fault, extra=known)
            away = database_away()
            error_type, response = away.code, protocol.error(away, self.model, request_id)
        except Exception:  # outer edge of one request: its fault is logged and answered, and must not reach the server
            known = about(request_id=request_id, service=self.name)
            log.exception("%s %s failed, request %s", self.name, protocol.operation(request), request_id, extra=known)
            error_type = internal_failure().code
            response = protocol.error(internal_failure(), self.model, request_id)
        if audit.isEnabledFor(logging.INFO):
            self._audit(_operation_in(protocol, request), request, request_id, response.status, error_type)
        await sent(response, send)

    def _audit(self, operation: str, request: AwsRequest, request_id: str, status: int, error: str | None) -> None:
        """Write a line about a call. It names the caller if callers are verified."""
        fields: LogFields = {"request_id": request_id, "service": self.name, "operation": operation, "status": status}
        if error is not None:
            fields["error"] = error
        if request.access is not None:
            fields["caller"] = request.access.principal.arn
        if (endpoint := _endpoint_in(request.body)) is not None:
            fields["endpoint"] = endpoint
        level = logging.DEBUG if operation.startswith(READS) else logging.INFO
        audit.log(level, "%s %s %d", self.name, operation, status, extra=about(**fields))

    async def _answered(
        self, protocol: WireProtocol, request: AwsRequest, request_id: str, receive: Receive
    ) -> Response:
        operation = await off_loop(len(request.body), self._operation, protocol, request)
        check_method(protocol, request)
        try:
            if operation.name in self._operations:
                return await self._our_answer(protocol, request, operation, request_id)
            read = await off_loop(len(request.body), self._read, protocol, request, operation)
            await self._authorized(request, operation.name, read)
            await self._guarded(protocol, request, operation, request_id)
        except NotOurs:
            pass
        return await until_disconnected(receive, self._others_answer(protocol, request, operation.name))

    async def _our_answer(
        self, protocol: WireProtocol, request: AwsRequest, operation: OperationModel, request_id: str
    ) -> Response:
        if len(request.body) > BODY_LIMIT_BYTES:
            raise too_large(BODY_LIMIT_BYTES)
        call = await off_loop(len(request.body), self._call, protocol, request, operation, request_id)
        await self._authorized(request, call.operation, call.params)

        def written(answer: Answer) -> Response:
            shape, named = operation.output_shape, tokens.named(answer, operation.name)
            return protocol.answer(operation, pruned(named, shape, self._kept) if shape else {}, request_id)

        return await self._run(call, written)

    async def _authorized(self, request: AwsRequest, operation: str, params: Mapping[str, Any] | None) -> None:
        """Raises the error for a caller who may not call this. Without verified callers everybody may."""
        if request.access is not None:
            await asyncio.to_thread(check_access, request.access, self.name, operation, params, self._rights())

    def _read(self, protocol: WireProtocol, request: AwsRequest, operation: OperationModel) -> Mapping[str, Any] | None:
        """The members of a call that another answers, if a condition key is made of one; else None."""
        shape = operation.input_shape
        if request.access is None or shape is None:
            return None
        if operation.name not in self._rights() and TAG_MEMBERS.isdisjoint(shape.members):
            return None
        return protocol.params(request, shape)

    async def _guarded(
        self, protocol: WireProtocol, request: AwsRequest, operation: OperationModel, request_id: str
    ) -> None:
        guard = self._guards.get(operation.name)
        if guard is not None:
            call = await off_loop(len(request.body), self._call, protocol, request, operation, request_id)
            await asyncio.to_thread(guard, self._context, call)

    def _call(self, protocol: WireProtocol, request: AwsRequest, operation: OperationModel, request_id: str) -> Call:
        params = tokens.unnamed(self._params(protocol, request, operation), operation.name)
        region = region_of(request.headers, request.query)
        return Call(operation.name, params, region, self._account, request_id, request.access)

    def _operation(self, protocol: WireProtocol, request: AwsRequest) -> OperationModel:
        name = protocol.operation(request)
        if name not in self.model.operation_names:
            raise protocol.unknown(f"{name or 'The request'} is not an operation of {self.name}.")
        return self.model.operation_model(name)

    async def _others_answer(self, protocol: WireProtocol, request: AwsRequest, operation: str) -> Response:
        try:
            if self._otherwise is None:
                raise unimplemented(self.name, operation)
            return await self._otherwise(self.name, operation, request)
        except Unanswered as why:
            raise protocol.unknown(str(why)) from why

    def _params(self, protocol: WireProtocol, request: AwsRequest, operation: OperationModel) -> dict[str, Any]:
        shape = operation.input_shape
        if shape is None:
            return {}
        params = protocol.params(request, shape)
        found = list(islice(violations(params, shape), VIOLATIONS_MAX))
        if found:
            raise refusal(found, operation)
        return params

    async def _run(self, call: Call, written: Callable[[Answer], Response]) -> Response:
        """Run the operation. `written` serializes the answer in a worker thread, since the answer may be large."""
        operation = self._operations[call.operation]
        if inspect.iscoroutinefunction(operation):
            return await asyncio.to_thread(written, await operation(self._context, call))

        def in_thread() -> Response | Awaitable[Answer]:
            answer = operation(self._context, call)
            return answer if inspect.isawaitable(answer) else written(answer)

        outcome = await asyncio.to_thread(in_thread)
        return outcome if isinstance(outcome, Response) else await asyncio.to_thread(written, await outcome)


def _operation_in(protocol: WireProtocol, request: AwsRequest) -> str:
    """The name of the operation, for a line in the log; empty if the request does not say it well."""
    try:
        return protocol.operation(request) if len(request.body) <= NAMING_MAX_BYTES else ""
    except AwsError:
        return ""


def _endpoint_in(body: bytes) -> str | None:
    """The member EndpointName of a body of JSON; None if there is none."""
    if len(body) > NAMING_MAX_BYTES or b'"EndpointName"' not in body:
        return None
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        return None
    name = members.get("EndpointName") if isinstance(members, dict) else None
    return name if isinstance(name, str) else None


def rights_of(service: str) -> "Rights":
    """The rows of one of the account's services. They are imported for the first caller who is verified."""
    from torpor_account.core.access.rights.account_rights import RIGHTS

    return RIGHTS.get(service, {})


def check_access(
    access: "CallerAccess", service: str, operation: str, params: Mapping[str, Any] | None, rights: "Rights"
) -> None:
    """Raises AccessDenied, or AccessDeniedException, in IAM's words. `params` are None where they are not read."""
    from torpor_account.core.access.needs import AccessRefused
    from torpor_account.core.access.rights.right_rows import needs_of

    try:
        access.check(needs_of(service, operation, params, access.place, rights))
    except AccessRefused as refused:  # the door notes it
        raise access_denied(service_model(service), refused.message) from None


def access_denied(model: ServiceModel, text: str) -> AwsError:
    """The denial as the service's protocol has it."""
    if model.metadata["protocol"] == "query":
        return AwsError("AccessDenied", 403, text)
    return AwsError("AccessDeniedException", 400, text)


def refusal(found: list[Violation], operation: OperationModel) -> AwsError:
    """The error for violated constraints: a service with the query protocol, now or once, has its own codes, and
    CloudWatch its own words for some operations."""
    codes = {shape.metadata.get("error", {}).get("code", shape.name) for shape in operation.error_shapes}
    if "MissingParameter" in codes and all(violation.missing for violation in found):
        return AwsError("MissingParameter", 400, f"The parameter {_parameter(found[0].path)} is required.")
    if "MissingParameter" in codes and all(violation.allowed for violation in found):
        text = f"The parameter {_parameter(found[0].place)} must be a value in the set [ {found[0].allowed} ]."
        return AwsError("InvalidParameterValue", 400, text)
    metadata = operation.service_model.metadata
    if metadata["protocol"] == "query" or "awsQueryCompatible" in metadata:
        return AwsError("ValidationError", 400, message(found))
    own = operation.service_model.shape_for_error_code("InvalidParameterException")
    return AwsError("ValidationException" if own is None else own.name, 400, message(found))


def _parameter(path: str) -> str:
    """The path of a member as the query protocol writes it: `MetricData.member.1.Unit`."""
    parts = ITEM.sub(r".member.\1", path).split(".")
    return ".".join(part if part == "member" else part[:1].upper() + part[1:] for part in parts)

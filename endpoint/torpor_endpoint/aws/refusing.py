"""Answers requests that are no service's: each with its error, in the caller's own protocol, once its body is read."""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.aws.models import no_model
from torpor_endpoint.aws.wire.asgi import AwsRequest, Disconnected, Receive, Scope, Send, opened, sent, taken
from torpor_endpoint.aws.wire.protocols import protocol_of
from torpor_endpoint.aws.wire.scope import Addresses, signed_for, target_of


@dataclass(frozen=True)
class Refusing:
    """An ASGI app that has an error for every request."""

    error_of: Callable[[AwsRequest], AwsError]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = opened(scope)
        try:
            with suppress(AwsError):  # it is too large, but that is not what was wrong with it first
                await taken(scope, receive, 0)
        except Disconnected:
            return
        await refused(request, self.error_of(request), send)


async def refused(request: AwsRequest, error: AwsError, send: Send) -> None:
    nobody = await asyncio.to_thread(no_model)
    await sent(protocol_of(request).error(error, nobody, str(uuid.uuid4())), send)


def unserved(request: AwsRequest) -> AwsError:
    name = signed_for(request.headers, request.query)
    return protocol_of(request).unknown(f"Torpor serves nothing that is signed for as {name}.")


def misdirected(addresses: Addresses, request: AwsRequest) -> AwsError:
    """AWS, where the service that was called reads the signature: "Credential should be scoped to correct service"."""
    target = target_of(request.path, request.headers)
    if target in addresses.targets:
        name = addresses.signing_name(addresses.targets[target])
        return AwsError("InvalidSignatureException", 400, f"Credential should be scoped to correct service: '{name}'.")
    return AwsError("UnknownOperationException", 400, f"No service that this is signed for has the target {target}.")

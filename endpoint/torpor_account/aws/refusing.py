"""Refuses requests that no service answers: reads the body, then sends the error in the caller's protocol."""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from torpor_account.aws.errors import AwsError
from torpor_account.aws.service_models import no_model
from torpor_account.aws.wire.asgi import AwsRequest, Disconnected, Receive, Scope, Send, opened, sent, taken
from torpor_account.aws.wire.protocols import protocol_of
from torpor_account.aws.wire.scope import Addresses, signed_for, target_of


@dataclass(frozen=True)
class Refusing:
    """An ASGI application that answers every request with the error that `error_of` returns."""

    error_of: Callable[[AwsRequest], AwsError]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = opened(scope)
        try:
            with suppress(AwsError):  # the body is too large, but the answer names the first fault
                await taken(scope, receive, 0)
        except Disconnected:
            return
        await refused(request, self.error_of(request), send)


async def refused(request: AwsRequest, error: AwsError, send: Send) -> None:
    """Send the error in the request's protocol."""
    model = await asyncio.to_thread(no_model)
    await sent(protocol_of(request).error(error, model, str(uuid.uuid4())), send)


def unserved(request: AwsRequest) -> AwsError:
    """The error for a request that is signed for an unknown service."""
    name = signed_for(request.headers, request.query)
    return protocol_of(request).unknown(f"Torpor serves nothing that is signed for as {name}.")


def misdirected(addresses: Addresses, request: AwsRequest) -> AwsError:
    """The error for a request whose signature and target name different services, in AWS's words."""
    target = target_of(request.path, request.headers)
    if target in addresses.targets:
        name = addresses.signing_name(addresses.targets[target])
        return AwsError("InvalidSignatureException", 400, f"Credential should be scoped to correct service: '{name}'.")
    return AwsError("UnknownOperationException", 400, f"No service that this is signed for has the target {target}.")

"""Notes what is denied, under the id that its caller sees, in the log of denials and in the audit log."""

import logging
from collections.abc import Awaitable, Callable, Iterable

from torpor_account.aws.wire.asgi import Message, Send
from torpor_account.core.access.explaining.denial import Denial
from torpor_account.core.access.needs import CallerAccess
from torpor_account.log_lines import about

REQUEST_IDS = (b"x-amzn-requestid", b"x-amz-request-id")

audit = logging.getLogger("torpor_endpoint.audit")


class DenialNotes:
    """Every answer to a verified caller passes it, but for invocations that are allowed without a task. `keep` gets a
    denial and the id of its request."""

    def __init__(self, keep: Callable[[Denial, str], Awaitable[None]]) -> None:
        self._keep = keep

    def noting(self, callers: list[CallerAccess], send: Send) -> Send:
        """A `send` that notes what was denied to these callers as the answer begins, if the answer refuses."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                for denied in [one.denials[-1] for one in callers if one.denials]:
                    request_id = _request_id(message.get("headers", ()))
                    fields = about(caller=denied.caller, request_id=request_id)
                    audit.info("denied: %s: %s", denied.message, denied.why, extra=fields)
                    await self._keep(denied, request_id)
            await send(message)

        return noting


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    return next((value.decode("latin-1") for name, value in headers if name.lower() in REQUEST_IDS), "")

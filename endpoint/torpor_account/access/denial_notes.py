"""Notes what is denied, under the id that its caller sees, in the log of denials and in the audit log."""

import asyncio
import logging
from collections.abc import Iterable

from torpor_account.aws.wire.asgi import Message, Send
from torpor_account.core.access.needs import CallerAccess
from torpor_account.log_lines import about
from torpor_account.storage.denial_log import DenialLog

REQUEST_IDS = (b"x-amzn-requestid", b"x-amz-request-id")

audit = logging.getLogger("torpor_endpoint.audit")


class DenialNotes:
    """Every answer to a verified caller passes it, but for invocations that are allowed without a task."""

    def __init__(self, kept: DenialLog) -> None:
        self._kept = kept

    def noting(self, callers: list[CallerAccess], send: Send) -> Send:
        """A `send` that notes what was denied to these callers as the answer begins, if the answer refuses."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                for denied in [one.denials[-1] for one in callers if one.denials]:
                    request_id = _request_id(message.get("headers", ()))
                    fields = about(caller=denied.caller, request_id=request_id)
                    audit.info("denied: %s: %s", denied.message, denied.why, extra=fields)
                    await asyncio.to_thread(self._kept.add, denied, request_id)
            await send(message)

        return noting


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    return next((value.decode("latin-1") for name, value in headers if name.lower() in REQUEST_IDS), "")

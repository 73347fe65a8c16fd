"""Makes an ASGI application in a thread when its first request comes: before that it is not even imported."""

import asyncio
import logging
from collections.abc import Callable

from torpor_account.aws.descriptors import retry_for_descriptors
from torpor_account.aws.wire.asgi import App, Receive, Scope, Send
from torpor_account.core.outages.records_fault import RecordsFault

log = logging.getLogger(__name__)


class LazyApp:
    """An ASGI application that `make` makes once. Requests that come meanwhile wait for it."""

    def __init__(self, make: Callable[[], App]) -> None:
        self._make = make
        self._making = asyncio.Lock()
        self._app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app or await self._made()
        await app(scope, receive, send)

    async def _made(self) -> App:
        async with self._making:
            if self._app is None:
                try:
                    self._app = await retry_for_descriptors(self._make)
                except RecordsFault as fault:  # the next request tries again
                    from torpor_account.aws.errors import database_away
                    from torpor_account.aws.refusing import Refusing

                    if not fault.told:
                        log.error("a service cannot be made: %s", fault)
                    return Refusing(lambda _: database_away())
            return self._app

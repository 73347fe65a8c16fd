"""What all connections of one process have in common: the application, the others, and whether it goes on."""

import asyncio
import logging
from typing import Any

from starlette.types import ASGIApp

from torpor_container.http.clients.connections import Connections
from torpor_container.http.clients.half_closed import HalfClosedConnections
from torpor_container.http.exchange import Framed, InlineApp, Tell
from torpor_container.http.server import ServerOptions, allowed_connections
from torpor_container.transport.greetings import Greetings


class ServedPort:
    """`alive`: the process goes on serving. `state` is what the application keeps for its requests."""

    def __init__(self, app: ASGIApp, options: ServerOptions, log: logging.Logger) -> None:
        self.app = app
        self.take_inline = app.take_inline if isinstance(app, InlineApp) else _never
        self.framed = app.framed if isinstance(app, Framed) else None
        self.options = options
        self.log = log
        self.alive = True
        self.state: dict[str, Any] = {}
        self.loop = asyncio.get_running_loop()
        allowed = options.connections_max or allowed_connections()
        self.connections = Connections(allowed, options.patience, log, options.connections_per_client)
        self.greetings = Greetings(self.connections.room_for_greetings, self.connections.greetings_crowded)
        self.half_closed = HalfClosedConnections()


def _never(scope: Any, body: bytes, tell: Tell) -> bool:
    return False

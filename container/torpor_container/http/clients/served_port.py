"""What all connections of one process have in common: the application, the others, and whether it goes on."""

import asyncio
import logging
from copy import copy
from typing import Any

from starlette.types import ASGIApp

from torpor_container.http.clients.connections import Connections
from torpor_container.http.clients.half_closed import HalfClosedConnections
from torpor_container.http.clients.known_heads import KnownHeads
from torpor_container.http.exchange import Framed, InlineApp, PartialApp
from torpor_container.http.server import ServerOptions, allowed_connections
from torpor_container.http.sharing.giving import Giving
from torpor_container.http.sharing.shared_port import PortBoard
from torpor_container.transport.greetings import Greetings


class ServedPort:
    """`alive`: the process goes on serving. `state` is what the application keeps for its requests. `board` is
    there if other processes serve the port too, and `giving` if one of them has what this application leaves to it."""

    def __init__(self, app: ASGIApp, options: ServerOptions, log: logging.Logger) -> None:
        self.app = app
        self.heads = KnownHeads(app.inline if isinstance(app, InlineApp) else _never)
        self.framed = app.framed if isinstance(app, Framed) else None
        self.options = options
        self.log = log
        self.alive = True
        self.state: dict[str, Any] = {}
        self.loop = asyncio.get_running_loop()
        allowed = options.connections_max or allowed_connections()
        shared = options.shared
        self.board = None if shared is None else PortBoard(shared)
        elsewhere = app.elsewhere if isinstance(app, PartialApp) else None
        self.giving = None if shared is None or elsewhere is None else Giving(shared.giving, elsewhere, log)
        show = None if self.board is None else self.board.show
        self.connections = Connections(allowed, options.patience, log, options.connections_per_client, show)
        self.greetings = Greetings(self.connections.room_for_greetings, self.connections.greetings_crowded)
        self.half_closed = HalfClosedConnections()
        self._beside: list[ServedPort] = []

    def beside(self, app: ASGIApp) -> "ServedPort":
        """The same port for connections that another application answers, request by request: they count together."""
        other = copy(self)
        other.app, other.heads, other.framed, other.giving = app, KnownHeads(_never), None, None
        self._beside.append(other)
        return other

    def stop(self) -> None:
        """Begin no more requests."""
        for one in (self, *self._beside):
            one.alive = False


def _never(scope: Any) -> None:
    return None

"""Serves an ASGI application by gunicorn: its options and its arbiter.

Nothing here serves a request: that is `worker`, which only the forked process imports (see `lazy_worker`).
"""

import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gunicorn.app.base import BaseApplication
from gunicorn.config import Config

from torpor_container.core.patience import ClientTimeouts
from torpor_container.http.gunicorn_version import check_version

if TYPE_CHECKING:
    from starlette.types import ASGIApp

SHUTDOWN_S = 70
"""What the application's own shutdown may take after the last request, before the arbiter kills its worker."""

KEEP_ALIVE_S = 3600
"""Idle connections are the endpoint's to close: one closed here could be in use at that moment."""

FIELD_MAX_BYTES = 64 * 1024
"""Of one header: session tokens are long."""

LINE_MAX_BYTES = 32 * 1024
"""Of the line with the path and the query: presigned URLs are long."""

SPARE_SHARE = 4
SPARE_MIN = 64
"""Of the descriptors that a process may have, a fourth and no less than these are not for connections: files, databases
and the connections to instances need some."""


PATIENCE = ClientTimeouts()


@dataclass(frozen=True)
class ServerOptions:
    """`bind` as gunicorn has it: `host:port` or `unix:/path`. `connections_max` None is what the descriptors allow.

    Told to stop, it waits `graceful_s` for the last requests and `shutdown_s` for the application, and then ends.
    """

    bind: str = "127.0.0.1:8080"
    graceful_s: int = 60
    shutdown_s: int = SHUTDOWN_S
    keep_alive_s: int = KEEP_ALIVE_S
    log_level: str = "info"
    connections_max: int | None = None
    patience: ClientTimeouts = PATIENCE

    def gunicorn(self) -> dict[str, object]:
        return {
            "bind": self.bind,
            "workers": 1,
            "worker_class": "torpor_container.http.lazy_worker.LazyWorker",
            "keepalive": self.keep_alive_s,
            "timeout": 0,  # a heartbeat missed under load is no reason to lose every model in memory
            "graceful_timeout": self.graceful_s + self.shutdown_s,
            "loglevel": self.log_level,
            "asgi_lifespan": "on",
            "control_socket_disable": True,
            # The C parser (gunicorn_h1c 0.6.9) takes in 64 KiB of a request that comes early on a keep-alive connection
            # and hangs up on the rest: a client that uploads one object after another loses some.
            "http_parser": "python",
            "header_map": "dangerous",  # to WSGI only: S3 metadata may well be called `x-amz-meta-my_key`
            "limit_request_line": LINE_MAX_BYTES,
            "limit_request_field_size": FIELD_MAX_BYTES,
            "asgi_disconnect_grace_period": 600,  # who leaves early does not undo what others may wait for
        }


def allowed_connections() -> int:
    """How many connections the descriptors of this process allow."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(limit - max(limit // SPARE_SHARE, SPARE_MIN), 1)


@cache
def configured(options: ServerOptions) -> Config:
    """gunicorn's configuration, made once in a process and those that are forked from it: it has 120 settings."""
    config = Config()
    for name, value in options.gunicorn().items():
        config.set(name, value)
    return config


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn application whose options and ASGI callable are given, not read from a file."""

    def __init__(self, make_app: Callable[[], "ASGIApp"], options: ServerOptions) -> None:
        """Raises UnknownGunicorn."""
        check_version()
        self._make_app = make_app
        self._options = options
        super().__init__()

    def load_default_config(self) -> None:
        self.cfg = configured(self._options)

    def load_config(self) -> None:
        """That was all."""

    @property
    def options(self) -> ServerOptions:
        return self._options

    def load(self) -> "ASGIApp":
        return self._make_app()

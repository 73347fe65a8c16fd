"""Serves an ASGI application by gunicorn: the options, and the arbiter that starts and stops the process that serves.

Nothing here serves a request. `worker` does, and only the process that the arbiter forks imports it (`lazy_worker`), so
the arbiter stays small.
"""

import logging
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gunicorn.app.base import BaseApplication
from gunicorn.config import Config

from torpor_container.core.client_timeouts import ClientTimeouts
from torpor_container.http.gunicorn_version import check_version

if TYPE_CHECKING:
    from starlette.types import ASGIApp

SHUTDOWN_S = 70
"""How long the application's own shutdown may take after the last request, before the arbiter kills the worker."""

KEEP_ALIVE_S = 3600
"""How long an instance's connection may be idle. It is so long because the endpoint closes idle ones: a server that
closes one may do so just as a request is on its way."""

FIELD_MAX_BYTES = 64 * 1024
"""The size of one header. It is large because session tokens are long."""

LINE_MAX_BYTES = 32 * 1024
"""The size of the line with the path and the query. It is large because presigned URLs are long."""

SPARE_SHARE = 4
SPARE_MIN = 64
"""A fourth of the descriptors that a process may have, and no fewer than SPARE_MIN, are not for clients' connections:
files, databases and the connections to instances need some."""

PATIENCE = ClientTimeouts()


@dataclass(frozen=True)
class TlsFiles:
    """The files of a certificate with its chain, and of its private key, in PEM. Both may be in one file."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class ServerOptions:
    """How to serve.

    `bind` is `host:port`, `unix:/path` or `fd://N`. `connections_max` None means what the descriptors allow, and
    `connections_per_client` 0 as many as that. With `tls` the server speaks HTTPS only. A process that is told to stop
    waits up to `graceful_s` for the last requests and `shutdown_s` for the application.
    """

    bind: str = "127.0.0.1:8080"
    graceful_s: int = 60
    shutdown_s: int = SHUTDOWN_S
    keep_alive_s: int = KEEP_ALIVE_S
    log_level: str = "info"
    connections_max: int | None = None
    connections_per_client: int = 0
    tls: TlsFiles | None = None
    patience: ClientTimeouts = PATIENCE
    secret: bytes | None = field(default=None, repr=False)
    """Takes connections only from those who prove that they know it (`transport.greeting`). None: from everybody."""
    log_formatter: type[logging.Formatter] | None = None
    """Formats everything that the process logs. None: gunicorn's own log has gunicorn's format, all else none."""

    def gunicorn(self) -> dict[str, object]:
        """gunicorn's settings. Those that are not here have gunicorn's defaults."""
        formatter, level = self.log_formatter, self.log_level
        return {
            **({} if formatter is None else {"logconfig_dict": log_config(formatter, level)}),
            "bind": self.bind,
            "workers": 1,
            "worker_class": "torpor_container.http.lazy_worker.LazyWorker",
            "keepalive": self.keep_alive_s,
            "timeout": 0,  # no heartbeat: one missed under load is no reason to lose every model in memory
            "graceful_timeout": self.graceful_s + self.shutdown_s,
            "loglevel": self.log_level,
            "asgi_lifespan": "on",
            "control_socket_disable": True,
            # The C parser (gunicorn_h1c 0.6.9) takes in 64 KiB of a request that comes early on a keep-alive connection
            # and hangs up on the rest: a client that uploads one object after another loses some.
            "http_parser": "python",
            "header_map": "dangerous",  # only WSGI is in danger: S3 metadata may well be called `x-amz-meta-my_key`
            "limit_request_line": LINE_MAX_BYTES,
            "limit_request_field_size": FIELD_MAX_BYTES,
            "asgi_disconnect_grace_period": 600,  # others may wait for what a client began that has left
        }


def log_config(formatter: type[logging.Formatter], level: str) -> dict[str, object]:
    """Python's logging configuration: all loggers write to standard error by this formatter. Libraries other than
    Torpor's own write warnings and worse, unless `level` is debug."""
    own = {"level": level.upper(), "handlers": ["lines"], "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "handlers": {
            "lines": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"},
        },
        "root": {"level": "DEBUG" if level == "debug" else "WARNING", "handlers": ["lines"]},
        "loggers": dict.fromkeys(("gunicorn.error", "torpor_endpoint", "torpor_account", "torpor_container"), own),
    }


def allowed_connections() -> int:
    """How many connections of clients the descriptors of this process allow."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(limit - max(limit // SPARE_SHARE, SPARE_MIN), 1)


@cache
def configured(options: ServerOptions) -> Config:
    """gunicorn's configuration. It has 120 settings, so it is made once in a process and those forked from it."""
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
        """Nothing more is read: neither a file nor the command line."""

    @property
    def options(self) -> ServerOptions:
        return self._options

    def load(self) -> "ASGIApp":
        return self._make_app()

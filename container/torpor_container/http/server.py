"""How an ASGI application is served: the options, and what they mean for the process's log and descriptors."""

import logging
import resource
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from torpor_container.core.client_timeouts import ClientTimeouts
from torpor_container.frozen_class import frozen
from torpor_container.http.sharing.shared_port import SharedPort

if TYPE_CHECKING:
    from torpor_container.transport.peers.peer_tls import PeerTls

NOT_STARTED = 3
"""The exit code of a process that cannot serve. gunicorn's arbiter forks no other one then."""

SHUTDOWN_S = 70
"""How long the application's own shutdown may take after the last request, before the arbiter kills the worker."""

KEEP_ALIVE_S = 3600
"""How long an instance's connection may be idle. It is so long because the endpoint closes idle ones: a server that
closes one may do so just as a request is on its way."""

SPARE_SHARE = 4
SPARE_MIN = 64
"""A fourth of the descriptors that a process may have, and no fewer than SPARE_MIN, are not for clients' connections:
files, databases and the connections to instances need some."""

PATIENCE = ClientTimeouts()

LOGGER = "torpor_container.http.worker"
"""Of the server itself. What the application logs beside it keeps its own form."""
LINE, LINE_TIME = "%(asctime)s [%(process)d] [%(levelname)s] %(message)s", "[%Y-%m-%d %H:%M:%S %z]"


@frozen
class TlsFiles:
    """The files of a certificate with its chain, and of its private key, in PEM. Both may be in one file."""

    certificate: Path
    key: Path


@frozen
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
    peers: "PeerTls | None" = field(default=None, repr=False)
    """With a secret: takes connections from other machines by TLS alone, of the deployment's own processes."""
    tickets: bool = False
    """With a secret: takes connections that do not greet, for requests with a ticket (`transport.tickets`)."""
    shares_artifacts: bool = False
    """The same for neighbours, which take artifacts by tickets."""
    log_formatter: type[logging.Formatter] | None = None
    """Formats everything that the process logs. None: gunicorn's own log has gunicorn's format, all else none."""
    shared: SharedPort | None = None
    """What connects this process with the others that serve the port. None: it serves the port alone."""


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


def log_alone(options: ServerOptions) -> logging.Logger:
    """The log of a process without gunicorn. Its lines look like those of gunicorn's log."""
    if options.log_formatter is not None:
        from logging.config import dictConfig  # not needed to check options

        dictConfig(log_config(options.log_formatter, options.log_level))
        return logging.getLogger(LOGGER)
    log, handler = logging.getLogger(LOGGER), logging.StreamHandler()
    handler.setFormatter(logging.Formatter(LINE, LINE_TIME))
    log.handlers, log.propagate = [handler], False
    log.setLevel(options.log_level.upper())
    return log


def allowed_connections() -> int:
    """How many connections of clients the descriptors of this process allow."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(limit - max(limit // SPARE_SHARE, SPARE_MIN), 1)

"""What the ports of an endpoint and of a router have in common: their options, the checks of these, and who serves."""

import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from torpor_account.core.origins.cross_origin import is_host, origin_of
from torpor_account.log_lines import FORMATS
from torpor_account.log_lines import LEVELS as LOG_LEVELS
from torpor_container.http.server import NOT_STARTED

if TYPE_CHECKING:
    from torpor_account.aws.wire.asgi import App
    from torpor_container.http.server import ServerOptions

PORT_MAX = 65535
FAILED = 1
"""The exit code of an endpoint or a router that could not start."""
OF_NOT_STARTED = ("Worker (pid:%s) exited with code %s.", "Shutting down: %s", "Reason: %s")
"""The lines that gunicorn logs after a worker which could not start."""


class PortOptions(Protocol):
    """The options of `torpor up` and of `torpor router` that say how a port is served."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...

    @property
    def bind(self) -> str: ...

    @property
    def allow_hosts(self) -> tuple[str, ...]: ...

    @property
    def allow_origins(self) -> tuple[str, ...]: ...

    @property
    def tls_cert(self) -> Path | None: ...

    @property
    def tls_key(self) -> Path | None: ...

    @property
    def connections_per_client(self) -> int: ...

    @property
    def log_level(self) -> str: ...

    @property
    def log_format(self) -> str: ...


PORT_CHECKS: tuple[tuple[str, Callable[[PortOptions], bool], str], ...] = (
    ("--port", lambda options: 0 <= options.port <= PORT_MAX, f"it must be from 0 to {PORT_MAX}"),
    (
        "--allow-host",
        lambda options: all(map(is_host, options.allow_hosts)),
        "it must be a name or an address without a port, such as torpor.internal",
    ),
    (
        "--allow-origin",
        lambda options: all(map(origin_of, options.allow_origins)),
        "it must be scheme://host or scheme://host:port without a path, such as http://localhost:3000; none means all",
    ),
    ("--tls-cert", lambda options: options.tls_cert is None or options.tls_key is not None, "add --tls-key"),
    ("--tls-key", lambda options: options.tls_key is None or options.tls_cert is not None, "add --tls-cert"),
    (
        "--connections-per-client",
        lambda options: options.connections_per_client >= 0,
        "it must be a number of connections, or 0 for no limit",
    ),
    ("--log-level", lambda options: options.log_level in LOG_LEVELS, f"choose one of {', '.join(LOG_LEVELS)}"),
    ("--log-format", lambda options: options.log_format in FORMATS, f"choose one of {', '.join(FORMATS)}"),
)
"""Each row: the flag, a check, and the rule for the error message."""


def listening_fault(host: str, port: int) -> str | None:
    """Why no server can listen there now, in words; None if one can."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
    return None


def serve(make_app: "Callable[[], App]", options: "ServerOptions") -> None:
    """Serve by gunicorn, and never return. Where the worker cannot start, what it said itself is all that is said."""
    from torpor_container.http.gunicorn_server import GunicornServer  # not needed to check options

    logging.getLogger("gunicorn.error").addFilter(_is_news)
    arbiter = os.getpid()
    try:
        GunicornServer(make_app, options).run()
    except SystemExit as ended:
        if ended.code == NOT_STARTED and os.getpid() == arbiter:  # the worker, a fork, ends here too
            sys.exit(FAILED)
        raise


def _is_news(record: logging.LogRecord) -> bool:
    """Whether gunicorn's line says more than that a worker could not start."""
    if record.levelno != logging.ERROR or record.msg not in OF_NOT_STARTED:
        return True
    code = record.args[1] if isinstance(record.args, tuple) and len(record.args) == 2 else NOT_STARTED
    return code != NOT_STARTED

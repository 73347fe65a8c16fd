"""How the port of an endpoint or of a router is served: its socket, its certificate, its time limits."""

import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from torpor_account.log_lines import JsonLines
from torpor_account.port import PortOptions
from torpor_endpoint.starting.cannot_start import BadOption

if TYPE_CHECKING:
    from torpor_account.tls.prepared import PreparedTls
    from torpor_container.http.server import ServerOptions
    from torpor_container.http.sharing.shared_port import SharedPort

GRACEFUL_S = 2
"""How long a stop waits for the requests in flight."""
KEEP_ALIVE_S = 300
"""How long a client's connection may be idle, in seconds."""


def server_options(options: PortOptions, shutdown_s: int, shared: "SharedPort | None") -> "ServerOptions":
    """How the port of an endpoint or of a router is served. `shared` is what it shares with the others at the port."""
    from torpor_container.http.server import ServerOptions, TlsFiles

    certificate, key = options.tls_cert, options.tls_key
    return ServerOptions(
        bind=options.bind,
        graceful_s=GRACEFUL_S,
        shutdown_s=shutdown_s,
        keep_alive_s=KEEP_ALIVE_S,
        log_level=options.log_level,
        log_formatter=JsonLines if options.log_format == "json" else None,
        connections_per_client=options.connections_per_client,
        shared=shared,
        tls=None if certificate is None or key is None else TlsFiles(certificate, key),
    )


def certified(prepare: Callable[[], "PreparedTls"]) -> "PreparedTls":
    """What `prepare` finds. Raises BadOption."""
    from torpor_account.tls.prepared import BadTls

    try:
        return prepare()
    except BadTls as error:
        raise BadOption(str(error)) from error


def socket_address(descriptor: int) -> tuple[str, int]:
    """The host and the port of an inherited socket, which stays open. Raises BadOption."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as listener:
            host, port = listener.getsockname()[:2]
    except (OSError, ValueError) as error:  # no descriptor, no socket, or none that has an address
        raise BadOption(f"--descriptor: {descriptor} is no listening socket: {error}") from error
    return host, port

"""Starts an endpoint in this process: the package's public start-up."""

import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torpor_account.core.origins.cross_origin import is_loopback
from torpor_account.port import serve
from torpor_account.storage.private import UMASK
from torpor_container.how_to_install import lacks_flat_trees
from torpor_container.http.server import NOT_STARTED
from torpor_endpoint.options import Options
from torpor_endpoint.starting.cannot_start import CannotStart, warn
from torpor_endpoint.starting.endpoint_checks import check, check_router_ports, unheld
from torpor_endpoint.starting.port_serving import certified, server_options, socket_address

if TYPE_CHECKING:
    from torpor_account.aws.wire.asgi import App
    from torpor_account.tls.prepared import PreparedTls

BACKLOG = 2048
SHUTDOWN_S = 2
"""How long a stop waits for everything but the requests in flight: it ends within five seconds."""


def run(options: Options) -> None:
    """Serve until SIGTERM or Ctrl-C, then drain and leave no process behind. Never returns: gunicorn exits.

    Raises BadOption, CannotStart before anything is started.
    """
    check(options)
    known = options if options.descriptor is None else _with_address(options, options.descriptor)
    check(known)  # the socket has the address
    check_router_ports(known)
    os.umask(UMASK)
    known, more = _secured_apart(known) if known.tls else (known, ())
    known = _with_shared_port(known) if known.shares_port else known
    exposed = exposure(known)
    cautions = (*unheld(known), *more, *left_behind(known), *filter(None, (lacks_flat_trees(),)))
    warn(known, (*([exposed] if exposed else []), *(f"Warning: {one}." for one in cautions)))
    serve(partial(_app, known), server_options(known, SHUTDOWN_S, known.shared))


def _with_shared_port(options: Options) -> Options:
    """The options of an endpoint whose routers answer at its port. The socket is there before any process that listens.
    Raises CannotStart."""
    from torpor_container.http.sharing import shared_port

    known = options if options.descriptor is not None else _listening(options)
    assert known.descriptor is not None, "a socket listens"
    return replace(known, shared=shared_port.opened(known.descriptor, 1 + known.routers))


def _listening(options: Options) -> Options:
    """Raises CannotStart."""
    try:
        listener = socket.create_server((options.host, options.port), backlog=BACKLOG)
    except OSError as error:
        raise CannotStart(f"{options.host}:{options.port} cannot be listened on: {error.strerror}") from error
    return replace(options, port=listener.getsockname()[1], descriptor=listener.detach())


def secured(options: Options) -> tuple[Options, Sequence[str]]:
    """The options of an endpoint that speaks HTTPS, with its certificate, its name in it and what clients trust it by;
    and warnings. It makes the endpoint's own certificate if there is none, and imports much. Raises BadOption."""
    from torpor_account.tls.preparing import prepared

    known = options if options.descriptor is None else _with_address(options, options.descriptor)
    return _with_certificate(options, lambda: prepared(known, socket.gethostname(), time.time()))


def _secured_apart(options: Options) -> tuple[Options, Sequence[str]]:
    """As `secured`, whose modules this process would keep for as long as the endpoint lives. Raises BadOption."""
    from torpor_account.tls.apart import prepared_apart

    def prepare() -> "PreparedTls":
        from torpor_account.tls.preparing import prepared

        return prepared(options, socket.gethostname(), time.time())

    return _with_certificate(options, lambda: prepared_apart(prepare))


def _with_certificate(options: Options, prepare: Callable[[], "PreparedTls"]) -> tuple[Options, Sequence[str]]:
    found = certified(prepare)
    files = found.files
    known = replace(
        options, tls_cert=files.certificate, tls_key=files.key, called=found.called, ca_bundle=found.trusted
    )
    return known, found.warnings


def _app(options: Options) -> "App":
    """The application, made in gunicorn's worker. Only the worker imports it, so its parent process stays small."""
    from torpor_account.storage.data_dir import DataDirInUse
    from torpor_account.storage.databases.database import DatabaseFault, SchemaTooNew
    from torpor_account.storage.deployment_secret import UnreadableSecret
    from torpor_endpoint.app import EndpointProcess

    try:
        return EndpointProcess(options).app()
    except (DataDirInUse, DatabaseFault, SchemaTooNew, UnreadableSecret) as error:
        warn(options, (f"torpor: the endpoint cannot start: {error}",))
        sys.exit(NOT_STARTED)


def exposure(options: Options) -> str | None:
    """A warning about an address that other machines may reach unverified; None if there is no such danger."""
    if options.auth or is_loopback(options.host):
        return None
    return (
        f"Warning: the endpoint listens on {options.host or '0.0.0.0'}, which other machines may reach, and verifies "
        f"no signature (--insecure-allow-anyone): whoever reaches port {options.port} may read and change everything, "
        "and run code as this user. Let only machines that you trust reach it (a firewall, a private network), or use "
        "--auth."
    )


def left_behind(options: Options) -> list[str]:
    """What stays on this machine although the database is elsewhere, in words."""
    if options.database is None or options.s3_endpoint is not None:
        return []
    return [f"the objects of the embedded S3 stay in {options.data_dir}, and not in the database: see --s3-endpoint"]


def abandoned(data_dir: Path) -> bool:
    """Whether the endpoint of this folder has lost its parent process. It stops by itself, or the next one ends it."""
    from torpor_account.storage.data_dir import orphan

    try:
        return orphan((data_dir / "lock").read_text()) is not None
    except OSError:
        return False


def _with_address(options: Options, descriptor: int) -> Options:
    """The options with the address of an inherited socket, which the instances need.

    The host in the options, which may be a name, stays an allowed one. Raises BadOption.
    """
    host, port = socket_address(descriptor)
    named = (options.host,) if options.host else ()
    return replace(options, host=host, port=port, allow_hosts=(*options.allow_hosts, *named))

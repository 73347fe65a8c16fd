"""Starts a router in this process."""

import asyncio
import os
import socket
import ssl
import sys
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from torpor_account.core.origins.cross_origin import is_loopback
from torpor_account.port import PORT_CHECKS, listening_fault, serve
from torpor_account.storage.private import UMASK
from torpor_container.http.sharing.channel import connected
from torpor_container.processes.inherited_variables import CA_BUNDLE
from torpor_container.waiting.quiet_time import QuietClock
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient, ControlRefused
from torpor_endpoint.routing.router.proving.control_signing import half_given, signer
from torpor_endpoint.routing.router.router_options import RouterOptions
from torpor_endpoint.starting.cannot_start import BadOption, CannotStart, warn
from torpor_endpoint.starting.option_checks import check_cryptography, check_grpc, check_rows, check_telemetry, is_url
from torpor_endpoint.starting.port_serving import certified, server_options, socket_address

if TYPE_CHECKING:
    from torpor_account.aws.wire.asgi import App
    from torpor_account.tls.prepared import PreparedTls
    from torpor_endpoint.routing.protocol.identities import Identities

CONTROL_WITHIN_S = 30.0
"""How long a router that starts waits for a control that does not answer."""
PAUSE_S = 0.5
SHUTDOWN_S = 9
"""How long the last captured data, the last spans and the last report may take together."""


class NoControl(CannotStart):
    """No control answers at the URL."""

    exit_code = 3


def run(options: RouterOptions) -> None:
    """Route until SIGTERM or Ctrl-C, then answer what is in flight. Never returns: gunicorn exits. Raises BadOption,
    CannotStart."""
    check(options)
    known = _with_address(options)
    if options.descriptor is None and (found := listening_fault(options.host, options.port)):
        raise CannotStart(f"{options.host}:{options.port} cannot be listened on: {found}: choose another --port")
    if known.tls:
        warn(known, (f"Warning: {one}." for one in _secured_apart(known).warnings))
    facts = _facts(options)
    if not (facts.auth or options.insecure or is_loopback(options.host)):
        raise BadOption(
            "--host: other machines may reach this address, and the control verifies no caller: start the control with "
            "--auth, or add --insecure-allow-anyone here"
        )
    if facts.sockets and not os.access(facts.sockets, os.R_OK | os.X_OK):
        raise BadOption(
            "--control: its instances listen on Unix sockets of its own machine: run the router there, as the same "
            "user, or the instances on a cluster (--instances-on)"
        )
    if facts.encrypts:
        check_cryptography("--control, whose instances speak TLS")
    os.umask(UMASK)
    callers = _callers(options) if facts.auth else None
    serve(partial(_app, known, facts, callers), server_options(known, SHUTDOWN_S, known.shared))


def check(options: RouterOptions) -> None:
    """Check each option's text. Raises BadOption."""
    if not is_url(options.control):
        raise BadOption("--control: it must be a URL, such as http://127.0.0.1:4700")
    if missing := half_given():
        raise BadOption(f"{missing}: it is not set, and the other part of the key for the control is")
    check_rows(options, PORT_CHECKS)
    _check_trusted(options)
    if options.tls:
        check_cryptography("--tls-cert")
    if options.otel:
        check_telemetry()
    if options.picker_port is not None:
        check_grpc("--picker-port")


def _check_trusted(options: RouterOptions) -> None:
    """The file is read now: a router that cannot read it would take its control to be away. Raises BadOption."""
    file = _trusted(options)
    if file is None or (options.trusted is None and not options.control.startswith("https")):
        return
    try:
        ssl.create_default_context(cafile=file)
    except OSError as error:  # ssl.SSLError is one
        flag = CA_BUNDLE if options.trusted is None else "--control-ca"
        why = "it holds no certificate in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise BadOption(f"{flag}: {file} cannot be read: {why}") from error


def _trusted(options: RouterOptions) -> str | None:
    """The file of the certificates by which the control is trusted; None for those of the system."""
    return options.trusted or os.environ.get(CA_BUNDLE) or None


def url(options: RouterOptions) -> str:
    """The router's address for clients on this machine. Its certificate is checked, where it has one. Raises
    BadOption."""
    host = "127.0.0.1" if options.host in ("", "0.0.0.0") else options.host
    if options.tls:
        host = certified(lambda: _prepared(_with_address(options))).called
    bracketed = f"[{host}]" if ":" in host else host
    return f"{'https' if options.tls else 'http'}://{bracketed}:{options.port}"


def _secured_apart(options: RouterOptions) -> "PreparedTls":
    """Raises BadOption. This process would keep the modules of TLS for as long as the router lives."""
    from torpor_account.tls.apart import prepared_apart

    return certified(lambda: prepared_apart(lambda: _prepared(options)))


def _prepared(options: RouterOptions) -> "PreparedTls":
    from torpor_account.tls.preparing import prepared_router

    return prepared_router(options, socket.gethostname(), time.time())


def _app(options: RouterOptions, facts: ControlFacts, callers: "tuple[str, Identities] | None") -> "App":
    """The application, made in gunicorn's worker. Only the worker imports it, so its parent process stays small."""
    from torpor_endpoint.routing.router.router_process import RouterProcess

    return RouterProcess(options, facts, client(options, facts.region), callers).app()


def client(options: RouterOptions, region: str = "us-east-1") -> ControlClient:
    """The client of the control. It signs, if the environment has an access key."""
    connect = None if options.shared is None else partial(connected, options.shared.giving)
    return ControlClient(options.control, signer(region), _trusted(options), connect=connect)


def _callers(options: RouterOptions) -> "tuple[str, Identities]":
    """Who may call, as the control says it. Raises BadOption, NoControl."""
    control = urlsplit(options.control)
    if options.shared is None and control.scheme != "https" and not is_loopback(control.hostname or ""):
        raise BadOption(
            "--control: the control verifies callers, and sends the secrets of all access keys to its routers: start "
            "it with --tls-cert or --tls-self-signed, and give its https:// URL"
        )
    try:
        found = asyncio.run(client(options).identities(None, 0.0))
    except ControlRefused as error:
        raise BadOption(f"--control: {error}") from error
    except ControlAway as error:
        raise NoControl(str(error)) from error
    assert found is not None, "nothing is the same as no identities"
    return found


def _facts(options: RouterOptions) -> ControlFacts:
    """What the control says of itself, as soon as it answers. Raises BadOption, NoControl."""
    control, clock, told = client(options), QuietClock(), False
    while True:
        try:
            return asyncio.run(control.facts())
        except ControlRefused as error:
            raise BadOption(f"--control: {error}") from error
        except ControlAway as error:
            if clock() > CONTROL_WITHIN_S:
                raise NoControl(f"{error}. Is it running, and is --control its URL?") from error
            if not told:
                print(f"Waiting for the control: {error}", file=sys.stderr, flush=True)
                told = True
            time.sleep(PAUSE_S)


def _with_address(options: RouterOptions) -> RouterOptions:
    """The options with the address of an inherited socket."""
    if options.descriptor is None:
        return options
    host, port = socket_address(options.descriptor)
    named = (options.host,) if options.host else ()
    return replace(options, host=host, port=port, allow_hosts=(*options.allow_hosts, *named))

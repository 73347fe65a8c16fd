"""Starts an endpoint in this process: the package's public start-up."""

import logging
import os
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from torpor_container.extras import how_to_install
from torpor_endpoint.core.emulation import EMULATED
from torpor_endpoint.core.origins.cross_origin import is_host, is_loopback, origin_of
from torpor_endpoint.host.images import UNKNOWN, BadImages, Images
from torpor_endpoint.log_lines import FORMATS, JsonLines, single_line
from torpor_endpoint.options import LOG_LEVELS, REFUSABLE, Options
from torpor_endpoint.storage.private import UMASK
from torpor_endpoint.telemetry.environment import BadTelemetry, signals

if TYPE_CHECKING:
    from torpor_endpoint.aws.wire.asgi import App


REGION = re.compile(r"(?![0-9]+$)(?!-)[a-zA-Z0-9-]{1,63}(?<!-)")
"""What boto3 accepts as a region: the label of a host name."""


GRACEFUL_S = 2
SHUTDOWN_S = 2
"""How long a stop waits for the requests in flight, and then for everything else: it ends within five seconds."""

OTEL_MODULES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
"""What `--otel` imports."""

KEEP_ALIVE_S = 300
"""How long a client's connection may be idle, in seconds."""


class BadOption(Exception):
    """An endpoint cannot be started with these options. The message names the one at fault."""


def run(options: Options) -> None:
    """Serve until SIGTERM or Ctrl-C, then drain and leave no process behind. Never returns: gunicorn exits.

    Raises BadOption before anything is started.
    """
    check(options)
    from torpor_container.http.server import Server, ServerOptions  # not needed to check options

    known = options if options.descriptor is None else _with_address(options, options.descriptor)
    check(known)  # the socket has the address
    os.umask(UMASK)
    as_json = known.log_format == "json"
    if warning := exposure(known):
        print(single_line(logging.WARNING, warning) if as_json else warning, file=sys.stderr, flush=True)
    server = ServerOptions(
        bind=known.bind,
        graceful_s=GRACEFUL_S,
        shutdown_s=SHUTDOWN_S,
        keep_alive_s=KEEP_ALIVE_S,
        log_level=known.log_level,
        log_formatter=JsonLines if as_json else None,
    )
    Server(partial(_app, known), server).run()


def _app(options: Options) -> "App":
    """The application, made in gunicorn's worker. Only the worker imports it, so its parent process stays small."""
    from torpor_endpoint.app import EndpointProcess

    return EndpointProcess(options).app()


def exposure(options: Options) -> str | None:
    """A warning about an address that other machines may reach; None for a loopback address."""
    if is_loopback(options.host):
        return None
    return (
        f"Warning: the endpoint listens on {options.host or '0.0.0.0'}, which other machines may reach. Torpor "
        f"verifies no signature: whoever reaches port {options.port} may read and change everything, and run code as "
        "this user. Let only machines that you trust reach it (a firewall, a private network), or use "
        "--host 127.0.0.1."
    )


def check(options: Options) -> None:
    """Check each option's text. Raises BadOption."""
    for flag, good, rule in CHECKS:
        if not good(options):
            raise BadOption(f"{flag}: {rule}")
    try:
        Images.read(options.images)
    except BadImages as error:
        raise BadOption(f"--images: {error}") from error
    if options.otel:
        _check_telemetry()


def _check_telemetry() -> None:
    if not all(map(_is_installed, OTEL_MODULES)):
        raise BadOption(f"--otel: OpenTelemetry's SDK is not installed: {how_to_install('otel')}")
    try:
        signals(os.environ)
    except BadTelemetry as error:
        raise BadOption(f"--otel: {error}") from error


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def abandoned(data_dir: Path) -> bool:
    """Whether the endpoint of this folder has lost its parent process. It stops by itself, or the next one ends it."""
    from torpor_endpoint.storage.data_dir import orphan

    try:
        return orphan((data_dir / "lock").read_text()) is not None
    except OSError:
        return False


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number
        return False


CHECKS: tuple[tuple[str, Callable[[Options], bool], str], ...] = (
    (
        "--s3-endpoint",
        lambda options: options.s3_endpoint is None or _is_url(options.s3_endpoint),
        "it must be a URL, such as http://127.0.0.1:9000",
    ),
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
    ("--region", lambda options: bool(REGION.fullmatch(options.region)), "it must be a name such as us-east-1"),
    ("--account", lambda options: bool(re.fullmatch("[0-9]{12}", options.account)), "it must be a number of 12 digits"),
    (
        "--emulate",
        lambda options: options.emulate is None or options.emulate in EMULATED,
        f"choose one of {', '.join(EMULATED)}",
    ),
    (
        "--unknown-images",
        lambda options: options.unknown_images in UNKNOWN,
        f"choose one of {', '.join(UNKNOWN)}",
    ),
    (
        "--refuse",
        lambda options: options.refused <= set(REFUSABLE),
        f"choose of {', '.join(REFUSABLE)}, with a comma between them",
    ),
    ("--warm-idle", lambda options: 0 < options.warm_idle_s < inf, "it must be more than 0"),
    ("--time-scale", lambda options: 0 < options.time_scale < inf, "it must be more than 0"),
    (
        "--travelling-clock",
        lambda options: not options.travelling_clock or is_loopback(options.host),
        "whoever reaches the endpoint can move its clock: use a loopback address, such as --host 127.0.0.1",
    ),
    (
        "--travelling-clock",
        lambda options: not options.travelling_clock or options.time_scale == 1.0,
        "it moves AWS's automatic scaling too: leave out --time-scale",
    ),
    (
        "--travelling-clock",
        lambda options: not options.travelling_clock or options.emulate is None,
        "the emulated delays are of real time: leave out --emulate",
    ),
    (
        "--faults",
        lambda options: not options.faults or is_loopback(options.host),
        "whoever reaches the endpoint can have faults strike: use a loopback address, such as --host 127.0.0.1",
    ),
    (
        "--faults",
        lambda options: not options.faults or options.s3_endpoint is None,
        "they strike the embedded S3: leave out --s3-endpoint",
    ),
    ("--log-level", lambda options: options.log_level in LOG_LEVELS, f"choose one of {', '.join(LOG_LEVELS)}"),
    ("--log-format", lambda options: options.log_format in FORMATS, f"choose one of {', '.join(FORMATS)}"),
)
"""Each row: the flag, a check, and the rule for the error message."""


def _with_address(options: Options, descriptor: int) -> Options:
    """The options with the address of an inherited socket, which the instances need.

    The host in the options, which may be a name, stays an allowed one.
    """
    with socket.socket(fileno=os.dup(descriptor)) as listener:
        host, port = listener.getsockname()[:2]
    named = (options.host,) if options.host else ()
    return replace(options, host=host, port=port, allow_hosts=(*options.allow_hosts, *named))

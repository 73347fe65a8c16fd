"""`torpor router`: runs a router in the foreground, beside a control or on another machine."""

import os
import ssl
import sys
from dataclasses import replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Annotated

import typer

from torpor.cli.commands.up import beside_the_start, listen
from torpor.cli.exit_codes import UsageRefused
from torpor.extras import require
from torpor.hosting.process import READY_WITHIN_S
from torpor_container.core.waiting import WALL_MULTIPLE
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.options import command_line
from torpor_endpoint.router.options import ROUTER_OPTIONS, RouterOptions

DEFAULT = RouterOptions()
MEANING = {option.field: option.meaning for option in ROUTER_OPTIONS}


def router(
    control: Annotated[str, typer.Option(help=MEANING["control"], metavar="URL")] = DEFAULT.control,
    port: Annotated[int, typer.Option(min=0, max=65535, help=f"{MEANING['port']} 0 takes a free one.")] = DEFAULT.port,
    host: Annotated[str, typer.Option(help=MEANING["host"])] = DEFAULT.host,
    insecure_allow_anyone: Annotated[
        bool, typer.Option("--insecure-allow-anyone", help=MEANING["insecure"])
    ] = DEFAULT.insecure,
    tls_cert: Annotated[Path | None, typer.Option(help=MEANING["tls_cert"], metavar="FILE")] = DEFAULT.tls_cert,
    tls_key: Annotated[Path | None, typer.Option(help=MEANING["tls_key"], metavar="FILE")] = DEFAULT.tls_key,
    connections_per_client: Annotated[
        int, typer.Option(help=MEANING["connections_per_client"], metavar="N")
    ] = DEFAULT.connections_per_client,
    allow_host: Annotated[list[str] | None, typer.Option(help=MEANING["allow_hosts"], metavar="NAME")] = None,
    allow_origin: Annotated[list[str] | None, typer.Option(help=MEANING["allow_origins"], metavar="ORIGIN")] = None,
    control_ca: Annotated[str | None, typer.Option(help=MEANING["trusted"], metavar="FILE")] = DEFAULT.trusted,
    seed: Annotated[int | None, typer.Option(help=MEANING["seed"])] = DEFAULT.seed,
    otel: Annotated[bool, typer.Option("--otel", help=MEANING["otel"])] = DEFAULT.otel,
    log_level: Annotated[str, typer.Option(help=MEANING["log_level"])] = DEFAULT.log_level,
    log_format: Annotated[str, typer.Option(help=MEANING["log_format"])] = DEFAULT.log_format,
) -> None:
    """Answer invocations for a control; Ctrl-C stops it."""
    require("a router", "endpoint", "container")
    from torpor_endpoint.router.start import check, url
    from torpor_endpoint.up import BadOption

    options = RouterOptions(
        control=control,
        port=port,
        host=host,
        insecure=insecure_allow_anyone,
        allow_hosts=tuple(allow_host or ()),
        allow_origins=tuple(allow_origin or ()),
        trusted=control_ca,
        tls_cert=tls_cert,
        tls_key=tls_key,
        connections_per_client=connections_per_client,
        seed=seed,
        otel=otel,
        log_level=log_level,
        log_format=log_format,
    )
    try:
        check(options)
    except BadOption as error:
        raise UsageRefused(str(error)) from error
    listener = listen(host, port)
    listener.set_inheritable(True)
    bound = replace(options, port=listener.getsockname()[1], descriptor=listener.fileno())
    try:
        own = url(bound)
    except BadOption as error:
        listener.close()
        raise UsageRefused(str(error)) from error

    def announce() -> None:
        if _serves(bound):
            typer.echo(f"Routing at {own} for {control} until Ctrl-C.", err=True)

    beside_the_start(listener, announce)
    arguments = command_line(bound, ROUTER_OPTIONS)
    os.execv(sys.executable, [sys.executable, "-m", "torpor_endpoint.router", *arguments])


def _serves(options: RouterOptions) -> bool:
    """Whether the router that starts answers at its socket, once it does. It is not asked who it is: its certificate
    may be for a name that leads to a load balancer."""
    host, port = options.host or "127.0.0.1", options.port
    if options.tls:
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        connection: HTTPConnection = HTTPSConnection(
            host, port, timeout=READY_WITHIN_S * WALL_MULTIPLE, context=unverified
        )
    else:
        connection = HTTPConnection(host, port, timeout=READY_WITHIN_S * WALL_MULTIPLE)
    try:
        connection.request("GET", f"/_torpor/{PageName.HEALTH}")
        connection.getresponse().read()
    except (OSError, HTTPException):  # it did not start, and says why itself
        return False
    finally:
        connection.close()
    return True

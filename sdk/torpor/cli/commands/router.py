"""`torpor router`: runs a router in the foreground, beside a control or on another machine."""

import os
import ssl
import sys
from dataclasses import replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

import typer

from torpor.cli.commands.up import beside_the_start, listen
from torpor.cli.exit_codes import UsageRefused
from torpor.cli.option_tables import takes, values
from torpor.extras import require
from torpor.hosting.endpoint_process import READY_WITHIN_S
from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.options import command_line
from torpor_endpoint.routing.router.router_options import ROUTER_OPTIONS, RouterOptions


@takes(ROUTER_OPTIONS)
def router(**given: Any) -> None:
    """Answer invocations for a control; Ctrl-C stops it."""
    require("a router", "endpoint", "container")
    from torpor_endpoint.routing.router.start import check, url
    from torpor_endpoint.starting.cannot_start import BadOption

    options = RouterOptions(**values(ROUTER_OPTIONS, given))
    try:
        check(options)
    except BadOption as error:
        raise UsageRefused(str(error)) from error
    listener = listen(options.host, options.port)
    listener.set_inheritable(True)
    bound = replace(options, port=listener.getsockname()[1], descriptor=listener.fileno())
    try:
        own = url(bound)
    except BadOption as error:
        listener.close()
        raise UsageRefused(str(error)) from error

    def announce() -> None:
        if _serves(bound):
            typer.echo(f"Routing at {own} for {options.control} until Ctrl-C.", err=True)

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

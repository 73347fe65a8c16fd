"""`torpor up`: runs an endpoint in the foreground, and prints how to reach it once it answers."""

import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from errno import EACCES, EADDRINUSE
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from torpor.calling.caller_keys import CREDENTIALS_FILE, UNVERIFIED, of_data_dir
from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import URL
from torpor.cli.commands.env import exports, lines
from torpor.cli.exit_codes import UsageRefused
from torpor.cli.option_tables import takes, values
from torpor.errors import EndpointFailed, EndpointRefused, EndpointUnreachable, NotTorpor, TorporError
from torpor.extras import require
from torpor.hosting.data_folder import ensure_free, ensure_writable
from torpor.hosting.endpoint_modules import ANALYZER, simulator
from torpor.hosting.endpoint_process import READY_WITHIN_S
from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.waiting.quiet_time import QuietClock
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.options import OPTIONS, Options, command_line

TRUST = """\
# The endpoint speaks HTTPS. AWS's clients trust its certificate by AWS_CA_BUNDLE; without it, boto3 needs
# verify="…" and curl --cacert, with {bundle}"""
LOOK_S = 0.1
"""Between two looks whether a router answers."""
ROUTERS = "# Routers answer invocations at {urls}"


@takes(OPTIONS)
def up(**given: Any) -> None:
    """Start an endpoint in the foreground; Ctrl-C drains and stops it."""
    require("an endpoint", "endpoint", "container")
    from torpor_endpoint.starting.cannot_start import BadOption, CannotStart
    from torpor_endpoint.starting.endpoint_checks import check, check_router_ports

    options = Options(**values(OPTIONS, given), what_if=simulator(), analyzer=ANALYZER)
    data_dir = options.data_dir
    try:
        check(options)
    except BadOption as error:
        raise UsageRefused(str(error)) from error
    if data_dir.exists():  # a new folder is made only once the ports are free
        ensure_writable(data_dir, "--data-dir")
        ensure_free(data_dir, "--data-dir")
    listener = listen(options.host, options.port)
    bound = replace(options, port=listener.getsockname()[1], descriptor=listener.fileno())
    try:
        check_router_ports(bound)
        ensure_writable(data_dir, "--data-dir")
    except BadOption as error:
        listener.close()
        raise UsageRefused(str(error)) from error
    except (CannotStart, EndpointFailed) as error:
        listener.close()
        raise EndpointFailed(str(error)) from error
    new = options.auth and not (data_dir / CREDENTIALS_FILE).exists()
    known = _secured(bound, listener) if bound.tls else bound
    root = _Root(data_dir, new) if options.auth else None
    beside_the_start(listener, lambda: _announce(known, root))
    _become(bound, listener)


def _secured(options: Options, listener: socket.socket) -> Options:
    """The options with their certificate. One of the endpoint's own is made now, so that it is there to be trusted.
    Raises UsageRefused."""
    from torpor_endpoint.starting.cannot_start import BadOption
    from torpor_endpoint.up import secured

    try:
        return secured(options)[0]
    except BadOption as error:
        listener.close()
        raise UsageRefused(str(error)) from error


def _become(options: Options, listener: socket.socket) -> NoReturn:
    """Replace this process by the endpoint's: the modules of the command line would stay in memory for good."""
    listener.set_inheritable(True)
    os.execv(sys.executable, [sys.executable, "-m", "torpor_endpoint", *command_line(options)])


def next_step(url: str, program: str) -> str:
    """What a person at a terminal can do next. `program` is how this command was called."""
    torpor = shlex.quote(program) if Path(program).name == "torpor" else f"{shlex.quote(sys.executable)} -m torpor"
    where = "" if url == URL else f" --url {url}"
    page = f"Its dashboard is {url}/_torpor/. "
    return f'Serving at {url} until Ctrl-C. {page}In another terminal: eval "$({torpor} env{where})"'


def listen(host: str, port: int) -> socket.socket:
    """The listening socket, made here so that a port in use gives one clear line. Raises EndpointFailed."""
    try:
        return socket.create_server((host, port), backlog=2048)
    except OSError as error:
        if error.errno in (EADDRINUSE, EACCES):
            why = f"{os.strerror(error.errno)}: choose another with --port, 0 takes a free one"
        else:
            why = f"{error.strerror}: choose an address of this machine with --host"
        raise EndpointFailed(f"{host}:{port} cannot be listened on: {why}") from error


class _Root(NamedTuple):
    """The root credential in the data folder of an endpoint that verifies its callers. A new one is shown once."""

    data_dir: Path
    is_new: bool

    def shown(self, connection: EndpointConnection) -> str:
        """What the shell needs, and what a person should know."""
        path = self.data_dir / CREDENTIALS_FILE
        keys = of_data_dir(self.data_dir) if self.is_new else None
        if keys is None:
            note = (
                f'# The root credential is in {path}: eval "$(torpor env --data-dir {shlex.quote(str(self.data_dir))})"'
            )
            shown = {name: value for name, value in connection.environment.items() if name not in UNVERIFIED.variables}
            return f"{lines(shown)}\n{note}"
        note = f"# This is the new root credential. It is shown this once, and kept in {path}."
        return f"{exports(replace(connection, keys=keys))}\n{note}"


def beside_the_start(listener: socket.socket, announce: Callable[[], None]) -> None:
    """Call this in a forked process, which waits until the server answers, since this one becomes the server."""
    if os.fork():
        return
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        listener.close()
        announce()
    except TorporError:
        pass  # the server did not start, and reports that itself
    finally:
        os._exit(0)


def _announce(options: Options, root: _Root | None) -> None:
    """Print the exports once the endpoint answers, and the addresses of routers at other ports once all of them do."""
    bundle = None if options.ca_bundle is None else str(options.ca_bundle)
    connection = EndpointConnection(options.url, options.region, ca_bundle=bundle)
    connection.page(PageName.HEALTH, timeout_s=READY_WITHIN_S * WALL_MULTIPLE)
    print(exports(connection) if root is None else root.shown(connection), flush=True)
    if connection.ca_bundle is not None:
        print(TRUST.format(bundle=shlex.quote(connection.ca_bundle)), flush=True)
    if sys.stderr.isatty():
        print(next_step(connection.url, sys.argv[0]), file=sys.stderr, flush=True)
    for url in options.router_urls:
        _until_routing(replace(connection, url=url))
    if options.router_urls:
        print(ROUTERS.format(urls=", ".join(options.router_urls)), flush=True)


def _until_routing(connection: EndpointConnection) -> None:
    """Wait until a router answers. Raises EndpointUnreachable if none does in time, or the endpoint, this process's
    parent, ends; NotTorpor for another server."""
    quiet_s, endpoint = QuietClock(), os.getppid()
    while True:
        try:
            health = connection.json_page(PageName.HEALTH)
            break
        except EndpointUnreachable:
            if quiet_s() > READY_WITHIN_S or os.getppid() != endpoint:
                raise
            time.sleep(LOOK_S)
        except (EndpointRefused, ValueError) as error:
            raise NotTorpor(connection.url) from error
    if not isinstance(health, dict) or health.get("role") != "router":
        raise NotTorpor(connection.url)

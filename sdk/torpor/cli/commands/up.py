"""`torpor up`: runs an endpoint in the foreground, and prints how to reach it once it answers."""

import os
import shlex
import signal
import socket
import sys
from dataclasses import replace
from errno import EACCES, EADDRINUSE
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import URL
from torpor.cli.commands.env import exports
from torpor.cli.exit_codes import UsageRefused
from torpor.errors import EndpointFailed, TorporError
from torpor.extras import require
from torpor.hosting.occupancy import ensure_free, ensure_writable
from torpor.hosting.process import READY_WITHIN_S
from torpor.hosting.simulator_module import simulator
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.options import OPTIONS, Options, command_line

DEFAULT = Options()
MEANING = {option.field: option.meaning for option in OPTIONS}


def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help=f"{MEANING['port']} 0 takes a free one.")] = DEFAULT.port,
    host: Annotated[str, typer.Option(help=MEANING["host"])] = DEFAULT.host,
    allow_host: Annotated[list[str] | None, typer.Option(help=MEANING["allow_hosts"], metavar="NAME")] = None,
    allow_origin: Annotated[list[str] | None, typer.Option(help=MEANING["allow_origins"], metavar="ORIGIN")] = None,
    data_dir: Annotated[Path, typer.Option(help=MEANING["data_dir"])] = DEFAULT.data_dir,
    aws_strict: Annotated[bool, typer.Option("--aws-strict", help=MEANING["strict"])] = DEFAULT.strict,
    s3_endpoint: Annotated[str | None, typer.Option(help=MEANING["s3_endpoint"], metavar="URL")] = DEFAULT.s3_endpoint,
    images: Annotated[Path | None, typer.Option(help=MEANING["images"], metavar="FILE")] = DEFAULT.images,
    unknown_images: Annotated[str, typer.Option(help=MEANING["unknown_images"])] = DEFAULT.unknown_images,
    refuse: Annotated[str | None, typer.Option(help=MEANING["refuse"], metavar="KINDS")] = DEFAULT.refuse,
    warm_idle: Annotated[float, typer.Option(help=MEANING["warm_idle_s"], metavar="SECONDS")] = DEFAULT.warm_idle_s,
    emulate: Annotated[str | None, typer.Option(help=MEANING["emulate"], metavar="aws")] = DEFAULT.emulate,
    seed: Annotated[int | None, typer.Option(help=MEANING["seed"])] = DEFAULT.seed,
    time_scale: Annotated[float, typer.Option(help=MEANING["time_scale"])] = DEFAULT.time_scale,
    travelling_clock: Annotated[
        bool, typer.Option("--travelling-clock", help=MEANING["travelling_clock"])
    ] = DEFAULT.travelling_clock,
    faults: Annotated[bool, typer.Option("--faults", help=MEANING["faults"])] = DEFAULT.faults,
    region: Annotated[str, typer.Option(help=MEANING["region"])] = DEFAULT.region,
    account: Annotated[str, typer.Option(help=MEANING["account"])] = DEFAULT.account,
    otel: Annotated[bool, typer.Option("--otel", help=MEANING["otel"])] = DEFAULT.otel,
    log_level: Annotated[str, typer.Option(help=MEANING["log_level"])] = DEFAULT.log_level,
    log_format: Annotated[str, typer.Option(help=MEANING["log_format"])] = DEFAULT.log_format,
) -> None:
    """Start an endpoint in the foreground; Ctrl-C drains and stops it."""
    require("an endpoint", "endpoint", "container")
    from torpor_endpoint.up import BadOption, check

    options = Options(
        data_dir=data_dir,
        host=host,
        port=port,
        allow_hosts=tuple(allow_host or ()),
        allow_origins=tuple(allow_origin or ()),
        strict=aws_strict,
        s3_endpoint=s3_endpoint,
        images=images,
        unknown_images=unknown_images,
        warm_idle_s=warm_idle,
        emulate=emulate,
        seed=seed,
        time_scale=time_scale,
        travelling_clock=travelling_clock,
        faults=faults,
        region=region,
        account=account,
        log_level=log_level,
        log_format=log_format,
        refuse=refuse,
        what_if=simulator(),
        otel=otel,
    )
    try:
        check(options)
    except BadOption as error:
        raise UsageRefused(str(error)) from error
    ensure_writable(data_dir, "--data-dir")
    ensure_free(data_dir, "--data-dir")
    listener = _listen(host, port)
    bound = replace(options, port=listener.getsockname()[1], descriptor=listener.fileno())
    _announce(EndpointConnection(bound.url, region), listener)
    _become(bound, listener)


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


def _listen(host: str, port: int) -> socket.socket:
    """The listening socket, made here so that a port in use gives one clear line. Raises EndpointFailed."""
    try:
        return socket.create_server((host, port), backlog=2048)
    except OSError as error:
        if error.errno in (EADDRINUSE, EACCES):
            why = f"{os.strerror(error.errno)}: choose another with --port, 0 takes a free one"
        else:
            why = f"{error.strerror}: choose an address of this machine with --host"
        raise EndpointFailed(f"{host}:{port} cannot be listened on: {why}") from error


def _announce(connection: EndpointConnection, listener: socket.socket) -> None:
    """Print the exports once the endpoint answers. A forked process waits for that, since this one becomes the
    endpoint."""
    if os.fork():
        return
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        listener.close()
        connection.page(PageName.HEALTH, timeout_s=READY_WITHIN_S)
        print(exports(connection), flush=True)
        if sys.stderr.isatty():
            print(next_step(connection.url, sys.argv[0]), file=sys.stderr, flush=True)
    except TorporError:
        pass  # the endpoint did not start, and reports that itself
    finally:
        os._exit(0)

"""`torpor up`: an endpoint in the foreground, which says how to reach it once it can be reached."""

import os
import signal
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from torpor.cli.env import exports
from torpor.connection import REGION, Connection
from torpor.errors import EndpointFailed, TorporError
from torpor.extras import require
from torpor.process import READY_WITHIN_S
from torpor_endpoint.options import PORT, Options


def up(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The one port of all services; 0 takes a free one.")
    ] = PORT,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    data_dir: Annotated[Path, typer.Option(help="What must survive a restart is here.")] = Path(".torpor"),
    aws_strict: Annotated[
        bool, typer.Option("--aws-strict", help="Refuse what AWS refuses; fail requests at zero capacity.")
    ] = False,
    s3_endpoint: Annotated[
        str | None, typer.Option(help="Another S3 for artifacts, instead of the embedded one.", metavar="URL")
    ] = None,
    region: Annotated[str, typer.Option(help="The region to be in.")] = REGION,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Start an endpoint in the foreground; Ctrl-C drains and stops it."""
    require("an endpoint", "endpoint", "container")
    from torpor_endpoint.up import run

    listener = _listen(host, port)
    options = Options(
        data_dir=data_dir,
        host=host,
        port=listener.getsockname()[1],
        descriptor=listener.fileno(),
        strict=aws_strict,
        s3_endpoint=s3_endpoint,
        region=region,
        log_level=log_level,
    )
    _announce(Connection(options.url, region), listener)
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    run(options)


def _listen(host: str, port: int) -> socket.socket:
    """Bound here, so that a port in use is one clear line. Raises EndpointFailed."""
    try:
        return socket.create_server((host, port), backlog=2048)
    except OSError as error:
        raise EndpointFailed(f"{host}:{port} can not be listened on: {error.strerror}") from error


def _announce(connection: Connection, listener: socket.socket) -> None:
    """Print the exports once the endpoint answers: a forked process waits for that, since `run` never returns."""
    if os.fork():
        return
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        listener.close()
        connection.page("health", timeout_s=READY_WITHIN_S)
        print(exports(connection), flush=True)
    except TorporError:
        pass  # it did not start, and says so itself
    finally:
        os._exit(0)

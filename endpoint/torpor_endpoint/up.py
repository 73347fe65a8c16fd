"""Starts an endpoint in this process: the package's public start-up."""

import os
import socket
from dataclasses import replace

from torpor_container.server import Server, ServerOptions
from torpor_endpoint.app import Endpoint
from torpor_endpoint.images import BadImages, Images
from torpor_endpoint.options import Options


class BadOption(Exception):
    """An endpoint cannot be started with these options. The message names the one at fault."""


def run(options: Options) -> None:
    """Serve until SIGTERM or Ctrl-C, then drain and leave no process behind. Never returns: gunicorn exits.

    Raises BadOption before anything is started.
    """
    check(options)
    known = options if options.descriptor is None else _with_address(options, options.descriptor)
    server = ServerOptions(bind=known.bind, log_level=known.log_level)
    Server(lambda: Endpoint(known).app(), server).run()


def check(options: Options) -> None:
    """Raises BadOption."""
    try:
        Images.read(options.images)
    except BadImages as error:
        raise BadOption(f"--images: {error}") from error


def _with_address(options: Options, descriptor: int) -> Options:
    """The instances must be told where the endpoint is, so an inherited socket is asked for its address."""
    with socket.socket(fileno=os.dup(descriptor)) as listener:
        host, port = listener.getsockname()[:2]
    return replace(options, host=host, port=port)

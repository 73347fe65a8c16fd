"""Starts an endpoint in this process: the package's public start-up."""

from torpor_container.server import Server, ServerOptions
from torpor_endpoint.app import Endpoint
from torpor_endpoint.options import Options


def run(options: Options) -> None:
    """Serve until SIGTERM or Ctrl-C, then drain and leave no process behind. Never returns: gunicorn exits."""
    server = ServerOptions(bind=options.bind, log_level=options.log_level)
    Server(lambda: Endpoint(options).app(), server).run()

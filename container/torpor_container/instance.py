"""The life of an instance that a warm parent forked: read the settings, serve on the inherited socket."""

import socket
from collections.abc import Mapping
from typing import Any

from torpor_container.app import Instance
from torpor_container.server import ServerOptions
from torpor_container.settings import Settings
from torpor_container.worker import serve_alone


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> int:
    """Run until told to stop. `descriptors[0]` is the listening socket."""
    settings = Settings.read()
    listener = socket.socket(fileno=descriptors[0])
    serve_alone(lambda: Instance(settings).app(), listener, ServerOptions(log_level="warning"))
    return 0

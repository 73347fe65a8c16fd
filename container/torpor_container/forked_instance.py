"""The life of an instance that a zygote forked: read the settings, serve on the inherited socket."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_container import formats
from torpor_container.app import InstanceProcess
from torpor_container.formats.xgboost.dense import native_library
from torpor_container.http.server import ServerOptions, configured
from torpor_container.http.worker import serve_alone
from torpor_container.models.quarantine import software_of
from torpor_container.processes.confinement import confine
from torpor_container.settings import Settings
from torpor_container.trials.suspects import Suspects, judge

OPTIONS = ServerOptions(log_level="warning")


def prepare() -> None:
    """In the zygote: what every instance needs, and what is the same for all. Each of them finds it done."""
    configured(OPTIONS)
    formats.look_up()
    native_library()
    for known in formats.FORMATS:
        software_of(known.frameworks)


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> int:
    """Run until told to stop. `descriptors[0]` is the listening socket."""
    settings = Settings.read()
    listener = socket.socket(fileno=descriptors[0])
    if settings.container is None:
        confine(settings.memory_bytes)
    serve_alone(lambda: InstanceProcess(settings, suspects=_suspects(settings)).app(), listener, OPTIONS)
    return 0


def _suspects(settings: Settings) -> Suspects | None:
    """Of an instance with many models: the one before it in this slot may have been ended by one of them."""
    if settings.container is not None or not settings.trials or not settings.multi_model or not settings.model_source:
        return None
    folder = Path(settings.base_dir)
    judge(folder, folder / "models")
    suspects = Suspects(folder)
    suspects.watch()
    return suspects

"""The start of an instance that a zygote forked: it reads the settings and serves on the inherited socket."""

import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torpor_container import formats
from torpor_container.app import InstanceProcess
from torpor_container.formats.xgboost.dense import native_library
from torpor_container.http.server import ServerOptions
from torpor_container.http.worker import serve_alone
from torpor_container.isolation import box
from torpor_container.models.quarantine import software_of, verdicts_of
from torpor_container.processes.import_steps import Step, reached
from torpor_container.processes.memory import confine
from torpor_container.processes.memory_budget import MemoryBudget, unlimited
from torpor_container.settings import BadSetting, Settings
from torpor_container.trials.suspects import Suspects, judge

OPTIONS = ServerOptions(log_level="warning")


def prepare() -> None:
    """Do once, in the zygote, what every instance would do alike."""
    formats.look_up()
    if reached() >= Step.BOOSTERS:
        native_library()
    if reached() is Step.WHOLE:
        box.prepare()
    for known in formats.FORMATS:
        software_of(known.frameworks)


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> int:
    """Serve until a signal stops it. `descriptors[0]` is the listening socket."""
    settings = Settings.read()
    listener = socket.socket(fileno=descriptors[0])
    limit = confine(settings.memory_bytes) if settings.container is None else unlimited
    memory = MemoryBudget(settings.memory_bytes, limit)
    options = OPTIONS
    if settings.peer_tls is not None and (fault := settings.peer_tls.fault(settings.secret, time.time())):
        raise BadSetting(f"TORPOR_PEER_TLS: {fault}")
    if settings.secret is not None:
        from torpor_container.transport.peers.peer_tls import PeerTls  # a zygote has no use for it

        shares = settings.neighbours_bytes > 0
        peers = None if settings.peer_tls is None else PeerTls(settings.peer_tls)
        options = replace(
            OPTIONS, secret=settings.secret, peers=peers, tickets=settings.tickets, shares_artifacts=shares
        )
    serve_alone(
        lambda: InstanceProcess(settings, memory, suspects=_suspects(settings), peers=options.peers).app(),
        listener,
        options,
    )
    return 0


def _suspects(settings: Settings) -> Suspects | None:
    """The record of what predicts, for an instance with many models, once the slot's last end is judged."""
    if settings.container is not None or not settings.trials or not settings.multi_model or not settings.model_source:
        return None
    folder = Path(settings.base_dir)
    judge(folder, verdicts_of(settings))
    suspects = Suspects(folder)
    suspects.watch()
    return suspects

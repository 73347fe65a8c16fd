"""Starts a foreign container: this forked child becomes its program."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_container.processes.namespaces import NoNamespace, bind_mounts

DESCRIPTORS_MAX = 65_536
IGNORED = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that the zygote or Python ignores. An ignored signal would stay ignored in the new program."""


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> int:
    """`descriptors[0]` gets its output. The program gets the given environment, and none of the parent's."""
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[0], 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.closerange(3, DESCRIPTORS_MAX)
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    command: list[str] = arguments["command"]
    if arguments["mounts"] and not _mount(arguments["mounts"]):
        return 127
    os.chdir(arguments["folder"])
    environment: dict[str, str] = arguments["environment"]
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        path = environment.get("PATH", "")
        os.write(2, f"{command[0]} cannot be started: {error.strerror} (PATH is {path})\n".encode())
    return 127


def _mount(mounts: Mapping[str, str]) -> bool:
    """Show the folders where the program expects them. False if that fails; its output then says why."""
    try:
        bind_mounts({place: Path(folder) for place, folder in mounts.items()})
    except NoNamespace as error:
        os.write(2, f"opt_ml: the container cannot be shown {' and '.join(mounts)}: {error}\n".encode())
        return False
    return True

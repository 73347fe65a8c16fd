"""The first moment of a foreign container: this forked child becomes its program."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_container.processes.namespaces import NoNamespace, bind_mounts

DESCRIPTORS_MAX = 65_536
IGNORED = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)
"""By the zygote and by Python; what is ignored stays so in a new program."""


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> int:
    """`descriptors[0]` takes what it prints. The environment is exactly the one given, and nothing of the parent's."""
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[0], 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.closerange(3, DESCRIPTORS_MAX)
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    command: list[str] = arguments["command"]
    if arguments["mounts"] and not _mounted(arguments["mounts"]):
        return 127
    os.chdir(arguments["folder"])
    environment: dict[str, str] = arguments["environment"]
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        path = environment.get("PATH", "")
        os.write(2, f"{command[0]} cannot be started: {error.strerror} (PATH is {path})\n".encode())
    return 127


def _mounted(mounts: Mapping[str, str]) -> bool:
    """Whether the folders are where the program wants them. Why not is the last that the container says."""
    try:
        bind_mounts({place: Path(folder) for place, folder in mounts.items()})
    except NoNamespace as error:
        os.write(2, f"opt_ml: the container cannot be shown {' and '.join(mounts)}: {error}\n".encode())
        return False
    return True

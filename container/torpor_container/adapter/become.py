"""The first moment of a foreign container: this forked child becomes its program."""

import os
from collections.abc import Mapping
from typing import Any


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> int:
    """`descriptors[0]` takes what it prints. The environment is exactly the one given, and nothing of the parent's."""
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[0], 2)
    command: list[str] = arguments["command"]
    os.chdir(arguments["folder"])
    try:
        os.execvpe(command[0], command, arguments["environment"])
    except OSError as error:
        os.write(2, f"{command[0]} can not be started: {error.strerror}\n".encode())
    return 127

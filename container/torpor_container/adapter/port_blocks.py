"""Blocks of ports for containers that take their port from outside. Programs of one user on a machine share none."""

import fcntl
import os
import random
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

BLOCKS = range(12000, 32000, 100)
"""The first ports of blocks. A container serves on the first port of its block; the others are its safe range. All are
below the ports that the system assigns, and below 32,768, the limit of Multi Model Server."""


@dataclass
class Block:
    """A block of ports, locked until `close`: a server may take seconds until it listens on the first of them."""

    port: int
    lock: TextIO

    def close(self) -> None:
        self.lock.close()


def free_block() -> Block:
    """Lock a block whose first port is free. Raises OSError if none is."""
    folder = private_folder(Path(tempfile.gettempdir()) / f"torpor-{os.getuid()}-ports")
    for port in random.sample(BLOCKS, len(BLOCKS)):
        held = (folder / str(port)).open("w")
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.create_server(("127.0.0.1", port)):
                return Block(port, held)
        held.close()
    raise OSError(f"none of the {len(BLOCKS)} ports for containers is free")


def safe_range(port: int) -> str:
    """The other ports of the block that begins with this one, as `SAGEMAKER_SAFE_PORT_RANGE` has them."""
    return f"{port + 1}-{port + BLOCKS.step - 1}"


def private_folder(folder: Path) -> Path:
    """Make a folder for this user alone. Raises PermissionError if another user has made it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder

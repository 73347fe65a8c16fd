"""The data folder: what is where in it, and that one endpoint at a time has it."""

import fcntl
import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

SOCKETS_PATH_MAX = 107 - len("/i-0123456789abcdef")
"""A Unix socket's path has 107 bytes at most, and an instance's name is the last part of it."""

LOCK_PATIENCE_S = 10.0
"""How long a new endpoint waits for an old one, which may be stopping, to let go of the data folder."""


class DataDirInUse(Exception):
    """Another endpoint has this data folder."""


@dataclass(frozen=True)
class DataDir:
    """`root` is absolute."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "torpor.sqlite"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite"

    @property
    def objects(self) -> Path:
        """The object store: each folder in it is a bucket."""
        return self.root / "s3"

    @property
    def instances(self) -> Path:
        """The instances' disks, as `Disks` lays them out."""
        return self.root / "instances"

    @property
    def training(self) -> Path:
        """Training jobs as they run."""
        return self.root / "training"

    @property
    def endpoint_logs(self) -> Path:
        """`<endpoint>/<variant>/<incarnation>.log`: they stay when their endpoint goes, as on AWS."""
        return self.root / "logs" / "endpoints"

    @property
    def training_logs(self) -> Path:
        """`<job>/algo-1-<epoch>.log`."""
        return self.root / "logs" / "training"

    @property
    def sockets(self) -> Path:
        """Where the instances listen: inside, or elsewhere if its path is too long for a socket."""
        inside = self.root / "run"
        if len(os.fsencode(inside)) <= SOCKETS_PATH_MAX:
            return inside
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:10]
        return Path("/tmp") / f"torpor-{os.getuid()}-{digest}"

    def lock(self) -> TextIO:
        """Hold the folder for this process until the file is closed. Raises DataDirInUse."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = (self.root / "lock").open("w")
        deadline_s = time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    held.close()
                    message = f"another endpoint uses {self.root}: stop it, or choose another --data-dir"
                    raise DataDirInUse(message) from None
                time.sleep(0.05)
            else:
                return held

"""The data folder: what is where in it, and that one endpoint at a time has it."""

import fcntl
import hashlib
import logging
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

SOCKETS_PATH_MAX = 107 - len("/i-0123456789abcdef")
"""A Unix socket's path has 107 bytes at most, and an instance's name is the last part of it."""

LOCK_PATIENCE_S = 10.0
"""How long a new endpoint waits for an old one, which may be stopping, to let go of the data folder."""

ORPHAN_PATIENCE_S = 5.0
"""An endpoint whose arbiter was killed stops, as any does, in less than this. Then it is killed."""

SILENT_S = 1.0
LOOK_S = 0.05

log = logging.getLogger(__name__)


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
        """Hold the folder for this process until the file is closed. Raises DataDirInUse.

        An endpoint that is about to end is waited for. One whose arbiter was killed is ended if it does not do so.
        """
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = (self.root / "lock").open("a+")
        began_s, told = time.monotonic(), False
        while not _locked(held):
            waited_s = time.monotonic() - began_s
            if waited_s > LOCK_PATIENCE_S:
                held.close()
                raise DataDirInUse(f"another endpoint uses {self.root}: stop it, or choose another --data-dir")
            if waited_s > ORPHAN_PATIENCE_S:
                self._end_orphan()
            if waited_s > SILENT_S and not told:
                log.warning("%s is in use: waiting up to %g s for its endpoint to end", self.root, LOCK_PATIENCE_S)
                told = True
            time.sleep(LOOK_S)
        held.truncate(0)
        held.write(f"{os.getpid()} {os.getppid()}\n")
        held.flush()
        return held

    def _end_orphan(self) -> None:
        """Kill the worker that holds the folder, if its arbiter is gone."""
        pid = orphan((self.root / "lock").read_text())
        if pid is not None:
            log.warning("process %d, whose arbiter was killed, does not end, and is killed", pid)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def orphan(holder: str) -> int | None:
    """The process that holds a lock, if its parent is no more the one that it had. `holder`: its own and that one's."""
    try:
        pid, parent = map(int, holder.split())
        status = Path(f"/proc/{pid}/stat").read_text()
    except (ValueError, OSError):
        return None
    return pid if int(status.rpartition(")")[2].split()[1]) != parent else None


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

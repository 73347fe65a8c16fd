"""The data folder: where each thing is in it, and the lock that lets one endpoint at a time use it."""

import fcntl
import hashlib
import logging
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from torpor_container.frozen_class import frozen
from torpor_container.waiting.quiet_time import QuietClock

SOCKETS_PATH_MAX = 107 - len("/i-0123456789abcdef")
"""A Unix socket's path has at most 107 bytes, and ends with the instance's name."""

LOCK_PATIENCE_S = 10.0
"""How long a new endpoint waits for an old one, which may be stopping, to release the data folder."""

ORPHAN_PATIENCE_S = 5.0
"""An endpoint whose parent process (gunicorn's arbiter) was killed stops in less than this. After it, it is killed."""

SILENT_S = 1.0
LOOK_S = 0.05

log = logging.getLogger(__name__)


class DataDirInUse(Exception):
    """Another endpoint uses this data folder."""


@frozen
class DataDir:
    """The paths in a data folder. `root` is absolute."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "torpor.sqlite"

    @property
    def credentials(self) -> Path:
        """The root's access key, where callers are verified."""
        return self.root / "credentials"

    @property
    def tls(self) -> Path:
        """The certificates that the endpoint makes, and `trusted.pem`, by which clients on this machine trust it."""
        return self.root / "tls"

    @property
    def deployment_secret(self) -> Path:
        """The secret that those of instances on other machines follow from."""
        return self.root / "deployment-secret"

    @property
    def peer_authority(self) -> Path:
        """The authority that signs the certificates of the deployment's own processes, with its key."""
        return self.root / "peer-authority.json"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite"

    @property
    def async_requests(self) -> Path:
        """The queue of asynchronous requests."""
        return self.root / "async.sqlite"

    @property
    def attempts(self) -> Path:
        """The inputs and results of asynchronous requests that run. What a crash left in it is of no use."""
        return self.root / "async"

    @property
    def objects(self) -> Path:
        """The embedded object store: each folder in it is a bucket."""
        return self.root / "s3"

    @property
    def instances(self) -> Path:
        """The instances' disks, which `host.disks` lays out."""
        return self.root / "instances"

    @property
    def training(self) -> Path:
        """The folders of running training jobs."""
        return self.root / "training"

    @property
    def processing(self) -> Path:
        """The folders of running processing jobs."""
        return self.root / "processing"

    @property
    def transform(self) -> Path:
        """The folders of running transform jobs, with results that are not whole."""
        return self.root / "transform"

    @property
    def logs(self) -> Path:
        """All logs, in folders by what writes them."""
        return self.root / "logs"

    @property
    def endpoint_logs(self) -> Path:
        """Logs `<endpoint>/<variant>/<incarnation>.log`, and `<endpoint>/<variant>/data-log.log`.

        As on AWS, they stay when their endpoint is deleted.
        """
        return self.logs / "endpoints"

    @property
    def component_logs(self) -> Path:
        """Logs of inference components, `<component>/<variant>/<incarnation>.log`."""
        return self.logs / "components"

    @property
    def training_logs(self) -> Path:
        """Logs `<job>/algo-1-<epoch>.log`."""
        return self.logs / "training"

    @property
    def processing_logs(self) -> Path:
        """Logs `<job>/algo-1-<epoch>.log`."""
        return self.logs / "processing"

    @property
    def transform_logs(self) -> Path:
        """Logs `<job>/<incarnation>.log`, and `<job>/data-log.log`."""
        return self.logs / "transform"

    @property
    def sockets(self) -> Path:
        """The folder of the instances' sockets: in the data folder, or in /tmp if the path is too long for a socket."""
        inside = self.root / "run"
        if len(os.fsencode(inside)) <= SOCKETS_PATH_MAX:
            return inside
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:10]
        return Path("/tmp") / f"torpor-{os.getuid()}-{digest}"

    def lock(self) -> TextIO:
        """Lock the folder for this process until the returned file is closed. Raises DataDirInUse.

        It waits for an endpoint that is stopping, and kills one whose parent process was killed and that does not stop.
        """
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = (self.root / "lock").open("a+")
        clock, warned = QuietClock(), False
        while not _locked(held):
            waited_s = clock()
            if waited_s > LOCK_PATIENCE_S:
                held.close()
                raise DataDirInUse(f"another endpoint uses {self.root}: stop it, or choose another --data-dir")
            if waited_s > ORPHAN_PATIENCE_S:
                self._end_orphan()
            if waited_s > SILENT_S and not warned:
                log.warning("%s is in use: waiting up to %g s for its endpoint to end", self.root, LOCK_PATIENCE_S)
                warned = True
            time.sleep(LOOK_S)
        held.truncate(0)
        held.write(f"{os.getpid()} {os.getppid()}\n")
        held.flush()
        return held

    def _end_orphan(self) -> None:
        """Kill the process that holds the lock, if its parent is gone."""
        pid = orphan((self.root / "lock").read_text())
        if pid is not None:
            log.warning("killing process %d: its parent was killed, and it does not end by itself", pid)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def orphan(holder: str) -> int | None:
    """The process that holds a lock, if it has lost its parent. `holder` has the process's number and its parent's."""
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

"""A PostgreSQL server of a test's own, on a Unix socket: it runs in a folder, and ends with the block."""

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.helpers.waiting import until

SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # the tests kill processes, and not machines
    "shared_buffers": "16MB",
    "max_connections": "40",
}


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; None where it is not installed."""
    found = [Path(path).resolve().parent for name in ("initdb",) if (path := shutil.which(name)) is not None]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


class PostgresqlServer:
    """`url` is that of its database `postgres`."""

    def __init__(self, folder: Path, user: str | None) -> None:
        self._folder = folder
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://torpor@/postgres?host={folder}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        command = ["postgres", "-D", str(self._folder / "data"), "-k", str(self._folder), *settings]
        self._process = subprocess.Popen(self._of(command), user=self._user, stderr=subprocess.DEVNULL)
        until(self._answers, within_s=60)

    def stop(self) -> None:
        """End it at once, as a machine's loss does: every connection breaks."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def flush(self) -> None:
        """Put on the disk what was committed without a wait for it, as the ledger's rows are: `stop` would lose it,
        if it is younger than half a second or so."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    def prepare(self) -> None:
        command = ["initdb", "-D", str(self._folder / "data"), "-U", "torpor", "--auth=trust", "--no-sync"]
        subprocess.run(self._of(command), user=self._user, check=True, stdout=subprocess.DEVNULL)

    def _answers(self) -> bool:
        import psycopg

        with suppress(psycopg.OperationalError), psycopg.connect(self.url):
            return True
        return False

    def _of(self, command: list[str]) -> list[str]:
        folder = programs()
        assert folder is not None
        return [str(folder / command[0]), *command[1:]]


@contextmanager
def server() -> Iterator[PostgresqlServer]:
    """A server that runs. PostgreSQL refuses to run as root: there, it runs as the user `postgres` or `nobody`."""
    with TemporaryDirectory(prefix="torpor-pg-", dir="/tmp") as name:  # the path of a socket is short
        user = None
        if os.geteuid() == 0:
            known = {one.pw_name for one in pwd.getpwall()}
            user = "postgres" if "postgres" in known else "nobody"
            shutil.chown(name, user)
        running = PostgresqlServer(Path(name), user)
        running.prepare()
        try:
            running.start()
            yield running
        finally:
            running.stop()

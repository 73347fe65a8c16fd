"""Two controls on one database and one cluster: one serves, and the other stands by. Each reaches the database by a way
of its own, and routers and callers reach whichever serves by a name."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import boto3
from botocore.config import Config

from benchmarks.interrupted.stand import REGION, Stand
from benchmarks.scene import cpu_s
from benchmarks.sleeping import children
from benchmarks.standby.severed_ways import Far, ServingPort, SeverableWay, WaysLoop
from tests.account.helpers.postgresql_server import server

NAMES = ("control-a", "control-b")
STANDS_BY = "standing by"
FAKE_CLUSTER = [sys.executable, "-m", "tests.endpoint.helpers.fake_cluster"]
IMAGE = 'image = "registry/torpor-instance:1"\n'


@dataclass
class ControlOfPair:
    """One control through all its lives. `name` is that of its connections to the database."""

    name: str
    stand: Stand
    database: SeverableWay

    def times_stood_by(self) -> int:
        """How often one of its lives began to stand by."""
        return self.stand.log.read_text().count(STANDS_BY)

    def processor_s(self) -> float:
        """The processor time of its processes so far."""
        return cpu_s([self.stand.pid, *children(self.stand.pid)])

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in (self.stand.pid, *children(self.stand.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@dataclass
class WayByName:
    """The control that serves, by a name that leads to it. It is what a router needs to know."""

    way: SeverableWay
    environment: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.way.port}"

    def client(self, service: str) -> "boto3.client":
        """It tries once, and waits for a few seconds: the control may be frozen."""
        config = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=5)
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}
        return boto3.client(service, REGION, endpoint_url=self.url, config=config, **keys)


@dataclass
class ControlPair:
    """`url` is that of the database. `store` is the S3 of both."""

    url: str
    ways: WaysLoop
    serving: ServingPort
    controls: dict[str, ControlOfPair]
    for_routers: WayByName
    for_callers: WayByName
    store: Stand

    def other(self, name: str) -> ControlOfPair:
        """The control that has not this name."""
        (found,) = [one for one in self.controls.values() if one.name != name]
        return found

    def processes_left(self) -> list[int]:
        return [pid for one in self.controls.values() for pid in one.stand.marked()]


@contextmanager
def pair_of_controls(folder: Path) -> Iterator[ControlPair]:
    """A database, a cluster and an S3 that run; the controls do not yet."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "standby", "AWS_SECRET_ACCESS_KEY": "standby"}
    with ExitStack() as running:
        postgresql = running.enter_context(server())
        ways = running.enter_context(closing(WaysLoop()))
        (folder / "store").mkdir()
        store = running.enter_context(Stand(folder / "store"))
        os.environ["KUBECONFIG"] = running.enter_context(_cluster(folder / "cluster"))
        (folder / "kubernetes.toml").write_text(IMAGE)
        stands: list[Stand] = []
        serving = ServingPort(lambda: [stand.port for stand in stands])
        for_routers, for_callers = SeverableWay(serving.reach), SeverableWay(serving.reach)
        databases = [SeverableWay(partial(_reached, postgresql.url)) for _ in NAMES]
        for way in (for_routers, for_callers, *databases):
            ways.run(way.begin())
        for name, database in zip(NAMES, databases, strict=True):
            url = f"postgresql://torpor@127.0.0.1:{database.port}/postgres?application_name={name}"
            (folder / name).mkdir()
            options = [
                "--no-runtime",
                "--standby",
                "--log-format=json",
                f"--database={url}",
                f"--s3-endpoint={store.url}",
            ]
            options += ["--instances-on=kubernetes", f"--kubernetes-file={folder / 'kubernetes.toml'}"]
            options += [f"--advertise=http://127.0.0.1:{for_routers.port}"]
            stands.append(Stand(folder / name, *options))
        ways.run(serving.begin())
        controls = {
            name: ControlOfPair(name, stand, database)
            for name, stand, database in zip(NAMES, stands, databases, strict=True)
        }
        for stand in stands:
            running.push(stand)
        environment = stands[0].environment
        names = WayByName(for_routers, environment), WayByName(for_callers, environment)
        yield ControlPair(postgresql.url, ways, serving, controls, *names, store)


async def _reached(url: str) -> Far:
    """The server's own socket."""
    return await asyncio.open_unix_connection(f"{url.rpartition('host=')[2]}/.s.PGSQL.5432")


@contextmanager
def _cluster(folder: Path) -> Iterator[str]:
    """The path of its kubeconfig."""
    folder.mkdir()
    with subprocess.Popen(
        [*FAKE_CLUSTER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()  # it ends when its input does

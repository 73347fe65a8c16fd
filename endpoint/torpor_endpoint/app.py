"""Composes the endpoint: the real clock, host and stores are made here and handed down; nothing else makes its own."""

import asyncio
import fcntl
import hashlib
import logging
import os
import random
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from starlette.applications import Starlette

from torpor_endpoint.cloudwatch.registry import MetricRegistry
from torpor_endpoint.cloudwatch.service import CloudWatch, cloudwatch_service
from torpor_endpoint.collector import Collector
from torpor_endpoint.control.context import Control
from torpor_endpoint.control.operations import sagemaker_service
from torpor_endpoint.controller import Controller
from torpor_endpoint.crew import Yard
from torpor_endpoint.fleet import Fleet
from torpor_endpoint.gateway import App, Gateway
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.images import Images
from torpor_endpoint.launch import Surroundings, launch_spec
from torpor_endpoint.options import Options
from torpor_endpoint.own import Own
from torpor_endpoint.runtime.app import Account, RuntimeApp
from torpor_endpoint.runtime.meter import Meters
from torpor_endpoint.runtime.router import Limits, Router
from torpor_endpoint.s3.app import S3App
from torpor_endpoint.s3.store import ObjectStore
from torpor_endpoint.schema import opened
from torpor_endpoint.sleeper import Sleeper
from torpor_endpoint.store import Store
from torpor_endpoint.sts import sts_service

SOCKETS_PATH_MAX = 107 - len("/i-0123456789abcdef")
"""A Unix socket's path has 107 bytes at most, and an instance's name is the last part of it."""

LOCK_PATIENCE_S = 10.0
"""How long a new endpoint waits for an old one, which may be stopping, to let go of the data folder."""

log = logging.getLogger(__name__)


class DataDirInUse(Exception):
    """Another endpoint has this data folder."""


class Endpoint:
    """Everything that one endpoint is made of."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = options.data_dir.resolve()
        self._fleet = Fleet()
        self._registry = MetricRegistry(time.time)
        self._meters = Meters(self._registry, time.time)
        self._collector = Collector(self._fleet, self._registry, time.time)

    def app(self) -> Gateway:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = lock(self._folder)
        own = Own(self._fleet, self._registry, self._collector.refresh, self._logs)
        account = self._options.account
        self._database = opened(self._folder / "torpor.sqlite")
        self._store = Store(self._database, time.time)
        self._objects = ObjectStore(self._folder / "s3", clock=time.time)
        self._host = LocalHost(sockets_folder(self._folder))
        self._controller = Controller(self._store, self._fleet, self._yard(), time.time, self._gone)
        control = Control(self._store, time.time, self._options.strict, self._fleet, self._controller.changed)
        router = Router(self._fleet, Limits(), random.random, time.perf_counter, self._options.strict)
        services: dict[str, App] = {
            "s3": S3App(self._objects, account=account, region=self._options.region),
            "sagemaker": sagemaker_service(control, account=account),
            "sagemaker-runtime": RuntimeApp(
                router, self._meters, Account(account, self._options.region), time.perf_counter
            ),
            "cloudwatch": cloudwatch_service(CloudWatch(self._registry, self._collector.refresh), account=account),
            "sts": sts_service(time.time, account=account),
        }
        return Gateway(services, own.app(self._lifespan), account)

    @property
    def _instances(self) -> Path:
        return self._folder / "instances"

    @property
    def _logs(self) -> Path:
        return self._folder / "logs" / "endpoints"

    def _yard(self) -> Yard:
        embedded = self._options.s3_endpoint is None
        images = Images.read(self._options.images)
        around = Surroundings(
            endpoint_url=self._options.url,
            region=self._options.region,
            folder=self._instances,
            logs=self._logs,
            images=images,
            s3_endpoint=self._options.url if embedded else self._options.s3_endpoint or "",
            s3_folder=self._folder / "s3" if embedded else None,
        )
        return Yard(self._host, partial(launch_spec, around=around), self._collector.farewell, images)

    async def _gone(self, name: str) -> None:
        """An endpoint was deleted: its instances' disks go. Its metrics and logs stay to be read, as on AWS."""
        self._meters.forget(name)
        await asyncio.to_thread(shutil.rmtree, self._instances / name.lower(), ignore_errors=True)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        await self._controller.start()
        sleeper = Sleeper(self._fleet, time.perf_counter)
        chores = {"collector": self._collector.run, "sleeper": sleeper.run}
        tasks = [asyncio.create_task(kept_up(name, chore)) for name, chore in chores.items()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._controller.close()
            await self._host.close()
            self._database.close()
            self._objects.close()
            self._lock.close()


async def kept_up(name: str, chore: Callable[[], Awaitable[None]]) -> None:
    """Do a chore for ever. What goes wrong in it is logged, and it begins again."""
    while True:
        try:
            await chore()
        except Exception:  # an outer edge: neither sleeping nor metrics may end for one odd answer
            log.exception("the %s failed, and begins again", name)
            await asyncio.sleep(1.0)


def sockets_folder(data_dir: Path) -> Path:
    """Where the instances listen: in the data folder, or elsewhere if its path is too long for a socket."""
    inside = data_dir / "run"
    if len(os.fsencode(inside)) <= SOCKETS_PATH_MAX:
        return inside
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:10]
    return Path("/tmp") / f"torpor-{os.getuid()}-{digest}"


def lock(folder: Path) -> TextIO:
    """Hold the data folder for this process until the file is closed. Raises DataDirInUse."""
    held = (folder / "lock").open("w")
    deadline_s = time.monotonic() + LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                held.close()
                raise DataDirInUse(f"another endpoint uses {folder}: stop it, or choose another --data-dir") from None
            time.sleep(0.05)
        else:
            return held

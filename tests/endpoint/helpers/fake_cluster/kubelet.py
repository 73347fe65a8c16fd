"""A kubelet of a fake cluster: each container is a process of this machine, on a loopback address of its own."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Protocol

from tests.endpoint.helpers.fake_cluster.containers import Container, StartContainer
from tests.endpoint.helpers.fake_cluster.objects import Object
from torpor_endpoint.host.kubernetes.manifests import CONTAINER, PORT

READ_S = 0.02
ABSENT = "absent"
"""An image whose name begins so cannot be pulled."""
NETWORKS = 64 * 256
_networks = count(os.getpid() * 7919)  # far apart, so that processes that run at once share none


def _addresses() -> Iterator[str]:
    """Addresses that no other kubelet has."""
    for network in _networks:
        at = network % NETWORKS
        for number in range(1, 255):
            yield f"127.{64 + at // 256}.{at % 256}.{number}"


class PodObjects(Protocol):
    """The pods and Secrets that a kubelet works on."""

    @property
    def by_name(self) -> Mapping[tuple[str, str], Object]: ...

    def all(self, resource: str) -> list[Object]: ...

    def patch(self, resource: str, name: str, change: Object) -> Object: ...

    def remove(self, resource: str, name: str) -> None: ...


class Kubelet:
    """Runs the pods that have a machine. A container that ends is started again once, at once."""

    def __init__(self, start: StartContainer, folder: Path) -> None:
        self._start = start
        self._folder = folder
        self._addresses = _addresses()
        self._pods: dict[str, asyncio.Task[None]] = {}
        self._ending: dict[str, asyncio.Event] = {}
        self._graces: dict[str, float] = {}
        self._logs: dict[str, list[Path]] = {}
        self._over: set[Path] = set()  # the logs of containers that have ended
        self._lines: dict[Path, list[str]] = {}

    def look(self, objects: PodObjects) -> None:
        for pod in objects.all("pods"):
            name = pod["metadata"]["name"]
            if name not in self._pods and pod["spec"].get("nodeName"):
                self._ending[name] = asyncio.Event()
                self._pods[name] = asyncio.create_task(self._run(objects, pod))
            grace_s = pod["metadata"].get("deletionGracePeriodSeconds")
            if grace_s is not None and grace_s != self._graces.get(name) and name in self._ending:
                self._graces[name] = grace_s
                self._ending[name].set()
                self._ending[name] = asyncio.Event()

    async def close(self) -> None:
        for task in self._pods.values():
            task.cancel()
        for fault in await asyncio.gather(*self._pods.values(), return_exceptions=True):
            if isinstance(fault, Exception):
                raise fault

    # -- a pod's life ----------------------------------------------------------------------------------------------
    async def _run(self, objects: PodObjects, pod: Object) -> None:
        name, child = pod["metadata"]["name"], None

        def said(**status: object) -> None:
            objects.patch("pods", name, {"status": status})

        try:
            if pod["spec"]["containers"][0]["image"].startswith(ABSENT):
                said(containerStatuses=[_status(0, waiting={"reason": "ImagePullBackOff", "message": "no such image"})])
            else:
                address = next(self._addresses)
                ended: dict[str, int] = {}
                for restarts in (0, 1):
                    child = await self._started(objects, pod, address, restarts)
                    began = _status(restarts, ended, running={})
                    ready = [{"type": "Ready", "status": "True"}]
                    said(phase="Running", podIP=address, containerStatuses=[began], conditions=ready)
                    code = await self._until_it_ends(objects, name, child)
                    self._over.add(self._logs[name][-1])
                    ended = {"exitCode": code if code >= 0 else 128 - code}
                    if "deletionTimestamp" in objects.by_name["pods", name]["metadata"]:
                        break
                    waiting = {"reason": "CrashLoopBackOff", "message": "back-off"}
                    said(containerStatuses=[_status(restarts, ended, waiting=waiting)])
            while "deletionTimestamp" not in objects.by_name["pods", name]["metadata"]:
                await self._ending[name].wait()
            objects.remove("pods", name)
        finally:
            if child is not None and child.running:
                child.kill()
                await child.wait()

    async def _started(self, objects: PodObjects, pod: Object, address: str, restarts: int) -> Container:
        name = pod["metadata"]["name"]
        log = self._folder / f"{name}.{restarts}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        self._logs.setdefault(name, []).append(log)
        environment = {**_environment(objects, pod), "SAGEMAKER_BASE_DIR": str(self._folder / name)}
        with socket.create_server((address, PORT), backlog=64) as listener:
            return await self._start(environment, log, listener)

    async def _until_it_ends(self, objects: PodObjects, name: str, child: Container) -> int:
        ended = asyncio.ensure_future(child.wait())
        while not ended.done():
            metadata = objects.by_name["pods", name]["metadata"]
            grace_s = metadata.get("deletionGracePeriodSeconds")
            if grace_s is not None:
                child.terminate()
            mark = asyncio.ensure_future(self._ending[name].wait())
            await asyncio.wait({ended, mark}, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
            if grace_s is not None and not mark.done() and not ended.done():
                child.kill()
                await ended
            mark.cancel()
        return ended.result()

    # -- its output ------------------------------------------------------------------------------------------------
    def output(self, pod: str, previous: bool = False) -> list[str]:
        """The lines of its newest container, or of the one before, each with the moment at which it was seen."""
        logs, index = self._logs.get(pod, []), -2 if previous else -1
        return self._stamped(logs[index]) if len(logs) >= -index else []

    async def followed(self, pod: str) -> AsyncIterator[str]:
        log, sent, last = self._logs[pod][-1], 0, False
        while not last:
            last = log in self._over
            lines = self._stamped(log)
            for line in lines[sent:]:
                yield line
            sent = len(lines)
            await asyncio.sleep(READ_S)

    def _stamped(self, log: Path) -> list[str]:
        known = self._lines.setdefault(log, [])
        for line in log.read_text().splitlines()[len(known) :]:
            known.append(f"{datetime.now(UTC).strftime('%Y-%m-%dT%H:%M:%S.%f')}{len(known):03}Z {line}")
        return known


def _environment(objects: PodObjects, pod: Object) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for source in pod["spec"]["containers"][0]["envFrom"]:
        found |= objects.by_name["secrets", source["secretRef"]["name"]]["stringData"]
    return found


def _status(restarts: int, ended: Mapping[str, int] | None = None, **state: object) -> Object:
    last = {"lastState": {"terminated": ended}} if ended else {}
    begun = {"containerID": f"process://{restarts}"} if "running" in state or ended else {}
    return {"name": CONTAINER, "restartCount": restarts, "state": state, **last, **begun}

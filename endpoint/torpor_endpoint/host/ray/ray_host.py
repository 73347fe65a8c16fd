"""The host that runs instances on the nodes of a Ray cluster, as the driver tells of them."""

import asyncio
import os
import secrets
import socket
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from torpor_account.core.origins.cross_origin import is_loopback
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.greeting import secret_of
from torpor_endpoint.host import HostError, Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.host.launch_names import deployment_digest, log_name
from torpor_endpoint.host.ray.asking import asked_by
from torpor_endpoint.host.ray.driver_messages import GONE, LEAVING, PENDING, News, Order, actor_name, slot_of
from torpor_endpoint.host.ray.driver_process import DriverProcess

if TYPE_CHECKING:
    from torpor_endpoint.peers.deployment_peers import DeploymentPeers

WITHIN_S = 30.0
"""How long a command may take, beyond the grace of an instance that ends."""
CLOSED_WITHIN_S = 6.0
LAST_GRACE_S = 0.5
"""How long an instance has to end when nobody wants it any more."""
T = TypeVar("T")


class RayHost:
    """Instances on a Ray cluster. `address` is Ray's, `logs` the folder of endpoints' output, `called` the URL by which
    instances call this endpoint, if they do; `keep` leaves them running at the end; with `peers` they speak TLS, by its
    certificates. What an earlier endpoint process of this deployment launched is adopted. Ray's own settings are in
    `environment`, such as its token."""

    def __init__(
        self,
        address: str,
        secret: bytes,
        logs: Path,
        called: str = "",
        *,
        keep: bool = False,
        peers: "DeploymentPeers | None" = None,
        environment: Mapping[str, str] = os.environ,
        driver: Callable[..., DriverProcess] = DriverProcess,
    ) -> None:
        self._secret = secret
        self._deployment = deployment_digest(secret)
        self._logs = logs
        self._called = called
        self._keep = keep
        self._peers = peers
        self._present: dict[Slot, Launched] = {}
        self._specs: dict[Slot, LaunchSpec] = {}  # what was launched, or begun, and not terminated
        self._unfinished: set[Slot] = set()  # a launch failed or was cancelled, and something of it may be there
        self._launching: dict[Slot, asyncio.Lock] = {}
        self._told: set[Slot] = set()  # since the driver began
        self._changed = asyncio.Event()
        self._driver = driver(address, self._deployment, environment, self._hear, self._learn)

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        try:
            await self._driver.open()
        except HostError as error:
            raise HostError(f"--instances-on: {error}") from error
        if fault := unreachable(self._called, self._driver.about["nodes"]):
            await self._driver.close()
            raise HostError(fault)
        await self._learn()
        strangers = [slot for slot in self._present if (slot.endpoint, slot.variant) not in kept]
        await asyncio.gather(*(self.terminate(slot, LAST_GRACE_S) for slot in strangers))
        await self._driver.ask("sweep", WITHIN_S, kept=sorted(kept))

    async def launch(self, spec: LaunchSpec) -> Launched:
        async with self._launching.setdefault(spec.slot, asyncio.Lock()):
            present = self._present.get(spec.slot)
            if present is not None and present.serves(spec):
                return present
            await self.terminate(spec.slot, 0.0)  # what the last launch left behind
            self._specs[spec.slot] = spec
            with ExitStack() as unfinished:  # whatever ends the launch, nobody may use what it has begun
                unfinished.callback(self._present.pop, spec.slot, None)
                unfinished.callback(self._unfinished.add, spec.slot)
                await self._driver.ask("launch", WITHIN_S, order=self._order(spec))
                launched = await self._until(lambda: self._present.get(spec.slot), WITHIN_S)
                unfinished.pop_all()
            return launched

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        """Also what an unfinished launch has begun: the driver may have its order."""
        if slot in self._present or slot in self._specs:
            await self._driver.ask("terminate", WITHIN_S + grace_s, slot=actor_name(slot), grace_s=grace_s)
            self._forget(slot)

    def list(self) -> tuple[Launched, ...]:
        return tuple(self._present.values())

    async def placed(self, slot: Slot) -> Launched:
        def settled() -> Launched | None:
            present = self._present.get(slot)
            if present is None:
                return Launched(slot, "", None, Phase.EXITED, "it was terminated")
            return present if present.phase is not Phase.PENDING else None

        return await self._until(settled)

    async def exited(self, slot: Slot) -> Launched:
        before = self._present[slot]

        def ended() -> Launched | None:
            now = self._present.get(slot)
            if now is None:
                return replace(before, phase=Phase.EXITED, reason="it was terminated")
            if now.phase is Phase.EXITED:
                return now
            lost = now.incarnation != before.incarnation and before.incarnation
            return replace(before, phase=Phase.EXITED, reason="its node or its actor was lost") if lost else None

        return await self._until(ended)

    def health(self, slot: Slot) -> Launched | None:
        return self._present.get(slot)

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        await self._driver.ask("vacate", WITHIN_S, endpoint=endpoint, variant=variant)

    async def close(self) -> None:
        """Stop what was launched, unless it is kept. What Ray does not stop in time, the driver goes on with."""
        slots = set(self._unfinished) if self._keep else {*self._present, *self._specs}
        ends = (self.terminate(slot, LAST_GRACE_S) for slot in slots)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSED_WITHIN_S):
                await asyncio.gather(*ends, return_exceptions=True)
        await self._driver.close()

    # -- what the driver tells ---------------------------------------------------------------------------------------
    async def _learn(self) -> None:
        """Have a new driver tell all that there is. What it does not tell of is gone."""
        self._told.clear()
        await self._driver.ask("watch", WITHIN_S)
        for slot in [slot for slot in self._present if slot not in self._told]:
            self._put(replace(self._present[slot], phase=Phase.EXITED, reason="its actor ended"))

    def _hear(self, news: News) -> None:
        slot = slot_of(news["slot"])
        if slot is None:
            return
        self._told.add(slot)
        if slot in self._unfinished:
            return
        present = self._present.get(slot)
        if news["state"] == GONE:
            if present is not None:
                self._put(replace(present, phase=Phase.EXITED, reason=news["reason"]))
            return
        if news["state"] == LEAVING:
            if present is not None and present.phase is Phase.RUNNING:
                self._put(replace(present, leaves_at_s=news["leaves_at_s"]))
            return
        if news["state"] == PENDING:
            self._put(Launched(slot, "", None, Phase.PENDING, news["reason"]))
            return
        launched = self._launched(slot, news)
        if news["output"] and launched.log is not None:
            _append(launched.log, b64decode(news["output"]))
        if present is not None and present.incarnation == launched.incarnation:
            launched = replace(launched, leaves_at_s=present.leaves_at_s)
        self._put(launched)

    def _launched(self, slot: Slot, news: News) -> Launched:
        report = news["report"]
        incarnation = report["incarnation"]
        launch, _, restart = incarnation.rpartition("-")
        secret = secret_of(secret_of(self._secret, launch), restart)
        host, port = report["host"], report["port"]
        if self._peers is None:
            address = GuardedAddress(host, port, secret)
        else:
            address = self._peers.address(host, port, secret, launch)
        adopted = LaunchSpec(
            slot,
            logs=self._logs / slot.endpoint / slot.variant,
            container=report["container"],
            instance=report["instance"],
        )
        spec = self._specs.get(slot, adopted)
        log = spec.logs and spec.logs / log_name(spec, incarnation)
        since_s = None if slot in self._specs else report["since_s"]
        phase, configuration = Phase(news["state"]), report["configuration"]
        return Launched(slot, incarnation, address, phase, news["reason"], log, since_s, configuration)

    def _order(self, spec: LaunchSpec) -> Order:
        launch = f"i-{secrets.token_hex(8)}"
        return Order(
            slot=actor_name(spec.slot),
            launch=launch,
            secret=secret_of(self._secret, launch).hex(),
            environment={**spec.environment, **({} if self._peers is None else self._peers.environment(launch))},
            forgotten=list(spec.forgotten),
            asked=asked_by(spec),
            version=version("torpor"),
            deployment=self._deployment,
            container=spec.container,
            instance=spec.instance,
            role=spec.role,
            configuration=spec.configuration,
        )

    def _put(self, launched: Launched) -> None:
        if self._present.get(launched.slot) != launched:
            self._present[launched.slot] = launched
            self._tell()

    def _forget(self, slot: Slot) -> None:
        self._present.pop(slot, None)
        self._specs.pop(slot, None)
        self._unfinished.discard(slot)
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _until(self, found: Callable[[], T | None], within_s: float | None = None) -> T:
        """Wait until a condition on the table holds. Raises HostError if it does not in time."""
        try:
            async with asyncio.timeout(within_s):
                while (value := found()) is None:
                    await self._changed.wait()
                return value
        except TimeoutError:
            raise HostError(f"Ray did not answer within {within_s:g} s") from None


def unreachable(called: str, nodes: Collection[str]) -> str | None:
    """What to do if instances on these nodes cannot call this URL, since it is a loopback address."""
    elsewhere = [node for node in nodes if not _is_here(node)]
    if not elsewhere or not is_loopback(urlsplit(called).hostname or "0.0.0.0"):
        return None
    return (
        f"--advertise: an instance on {elsewhere[0]} does not reach {called}: give the URL by which it reaches this "
        "endpoint, such as http://10.0.0.5:4700, or let another S3 hold the artifacts (--s3-endpoint)"
    )


def _is_here(address: str) -> bool:
    """Whether it is an address of this machine."""
    try:
        with socket.create_server((address, 0)):
            return True
    except OSError:
        return False


def _append(log: Path, output: bytes) -> None:
    """At most 256 KiB, so nobody waits for it."""
    with suppress(OSError):  # a full disk must not keep instances from being seen
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            file.write(output)

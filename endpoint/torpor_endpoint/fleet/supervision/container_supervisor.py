"""Starts one container of an instance, probes it until it is ready, and watches it until it ends or its pings fail.

Every function is about one process. The slot's supervisor decides what its end means for the instance.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from torpor_account.storage.failures import is_machines
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.fleet.supervision.probe import answers, final_fault, last_line, truncate_if_large
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.host import Host, HostError, Launched, LaunchSpec, Phase
from torpor_endpoint.in_service.incarnation import LiveContainer

log = logging.getLogger(__name__)


LONG_S = 10.0
"""An instance that waits longer for a place is in the log, with the reason."""


class StartFailed(Exception):
    """A container did not become ready. `final`: another try cannot help. `containers` are the names of those.
    `machine`: the machine failed it: no disk, no descriptor."""

    def __init__(
        self, reason: str, final: bool = False, containers: tuple[str, ...] = (), machine: bool = False
    ) -> None:
        super().__init__(reason)
        self.final = final
        self.containers = containers
        self.machine = machine


class Died(StartFailed):
    """The process of a container ended before it was ready."""


async def launched(
    host: Host, container: Container, spec: Callable[[], LaunchSpec], timing: InstanceTiming
) -> LiveContainer:
    """Start the container's process, and wait until it has a place. Raises StartFailed."""
    try:
        wanted = spec()
        launch = await host.launch(wanted)
        if launch.phase is Phase.PENDING:
            launch = await _placed(host, launch, timing.placed_within_s)
    except (HostError, OSError, ValueError) as error:
        raise StartFailed(str(error), containers=(container.name,), machine=is_machines(error)) from error
    if launch.address is None:
        raise Died(launch.reason or "it ended", containers=(container.name,))
    if not launch.is_of(wanted.configuration):  # the host has learned that just now
        raise StartFailed("another configuration ran in its place", containers=(container.name,))
    return LiveContainer.of(container, launch, asyncio.ensure_future(host.exited(launch.slot)))


async def _placed(host: Host, pending: Launched, within_s: float) -> Launched:
    """Wait until the instance has a place. Raises HostError if it gets none in time: an engine may wait for ever."""
    placed = asyncio.ensure_future(host.placed(pending.slot))
    try:
        for patience_s in (min(LONG_S, within_s), within_s - LONG_S):
            await asyncio.wait({placed}, timeout=max(0.0, patience_s))
            if placed.done():
                return placed.result()
            reason = (host.health(pending.slot) or pending).reason
            log.warning("%s waits for a place: %s", pending.slot, reason)
        raise HostError(f"it has had no place for {within_s:g} s: {reason}")
    finally:
        placed.cancel()


async def until_ready(container: LiveContainer, timing: InstanceTiming) -> None:
    """Ping the container until it answers as AWS requires. Raises StartFailed."""
    for probes in count():
        await check_running(container)
        if await answers(container.upstream, container.definition.multi_model, timing.ping_within_s):
            return
        if fault := await final_fault(container.upstream, timing.ping_within_s):
            raise StartFailed(fault, final=True, containers=(container.name,))
        await truncate_if_large(container.log)
        await asyncio.sleep(timing.probe_pause_s(probes))


async def check_running(container: LiveContainer) -> None:
    """Raises Died if the process has ended."""
    if container.ended.done():
        reason = f"{container.ended.result().reason}{await last_line(container.log)}"
        raise Died(reason, containers=(container.name,))


async def connected(container: LiveContainer, timing: InstanceTiming) -> None:
    """The container is ready: open the shared connection to it. It may not speak frames."""
    await container.multiplexed.connect(timing.ping_within_s)
    container.well = True


async def watched(container: LiveContainer, timing: InstanceTiming, well: Callable[[], None]) -> str:
    """Watch a ready container until it ends or its pings keep failing, and return the reason.

    AWS replaces an instance whose ping keeps failing too. `well` is called after each good ping.
    """
    container.ended.add_done_callback(lambda _: container.doubt.set())
    misses = 0
    while misses < timing.unhealthy_after:
        with suppress(TimeoutError):
            async with asyncio.timeout(timing.health_period_s):
                await container.doubt.wait()
        container.doubt.clear()
        if container.ended.done():
            return container.ended.result().reason
        good = await answers(container.upstream, False, timing.ping_within_s)
        misses = 0 if good else misses + 1
        await truncate_if_large(container.log)
        if good:
            await connected(container, timing)  # does nothing if the connection is open
            well()
    return f"{misses} pings in a row failed"

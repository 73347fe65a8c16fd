"""Brings each endpoint from what runs to what its stored record asks for, and writes the result to the store.

The controller is level-triggered: on a change it reads the record and acts on its status, in one task per endpoint.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from torpor_account.log_lines import about
from torpor_account.outer_edge import outer_edge
from torpor_endpoint.core.lifecycle import SERVING, EndpointEvent, after, move
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.core.rollouts.rollout import Rollout, RolloutPhase
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.rollout_driver import LOOK_S, AlarmsOn, RolloutDriver, Warm, left_cold, no_alarm
from torpor_endpoint.fleet.variant_change import DeploymentFailed
from torpor_endpoint.storage.store import Store

RETRY_S = 5.0

log = logging.getLogger(__name__)


def wanted_variants(endpoint: EndpointRecord) -> tuple[Variant, ...]:
    """The variants that may have instances. At a start the host ends all others: also what a deletion, a rollback or a
    failed creation had not ended yet when the process before this one stopped."""
    match endpoint.status:
        case EndpointStatus.DELETING | EndpointStatus.FAILED:
            return ()
        case EndpointStatus.UPDATING | EndpointStatus.UPDATE_ROLLBACK_FAILED:
            return (*endpoint.variants, *(endpoint.pending_variants or ()))
        case EndpointStatus.ROLLING_BACK if endpoint.rollout is not None:
            return (*endpoint.variants, *(endpoint.pending_variants or ()))
        case EndpointStatus.CREATING | EndpointStatus.IN_SERVICE | EndpointStatus.ROLLING_BACK:
            return endpoint.variants


class Controller:
    """Acts on the records of endpoints. Any thread may call `changed`; everything else runs on the event loop.

    `epoch` gives epoch seconds. `deleted` is awaited with the name of an endpoint whose instances have ended. The waits
    of rollouts pass `pace` times faster than their policies say, `alarms_on` can end them, and `warm` is awaited before
    the first traffic of a step.
    """

    def __init__(
        self,
        store: Store,
        roster: FleetRoster,
        factory: InstanceFactory,
        epoch: Callable[[], float],
        deleted: Callable[[str], Awaitable[None]],
        *,
        alarms_on: AlarmsOn = no_alarm,
        warm: Warm = left_cold,
        pace: float = 1.0,
    ) -> None:
        self._store = store
        self._roster = roster
        self._factory = factory
        self._epoch = epoch
        self._deleted = deleted
        self._deployments: dict[str, Deployment] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed_meanwhile: set[str] = set()
        self._sizes: dict[str, dict[str, int]] = {}  # by endpoint and variant, what is to be recorded yet
        self._loop: asyncio.AbstractEventLoop | None = None  # between start and close
        leave_s = factory.timing.grace_s
        self.rollouts = RolloutDriver(epoch, self._replaced, alarms_on=alarms_on, warm=warm, pace=pace, leave_s=leave_s)

    async def start(self) -> None:
        """Serve every endpoint in the store, and finish what a restart interrupted."""
        self._loop = asyncio.get_running_loop()
        for endpoint in await asyncio.to_thread(self._store.endpoints):
            if endpoint.status in SERVING:
                await self._serve(endpoint)
            self._schedule(endpoint.name)

    def changed(self, name: str) -> None:
        """Act on the record of this endpoint soon. Does nothing before `start` and after `close`."""
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self._schedule, name)

    def resized(self, name: str, variant: str, size: int) -> None:
        """The number of a variant's instances has changed, as copies of inference components come or go: the endpoint's
        status is `Updating` until it has them. While another update is under way it is recorded after that. Called on
        the event loop."""
        self._sizes.setdefault(name, {})[variant] = size
        self._schedule(name)

    async def watch_rollouts(self, pause: Callable[[float], Awaitable[None]]) -> None:
        """Look once a second whether an alarm or the time moves a rollout, for ever."""
        while True:
            for name in self.rollouts.due():
                self._schedule(name)
            await pause(LOOK_S)

    def under_way(self) -> str | None:
        """The first endpoint that is being changed; None if there is none."""
        return next((f"endpoint {name} is being changed" for name in self._tasks), None)

    async def close(self, *, detach: bool = False) -> None:
        """Stop the tasks and every instance; with `detach` the instances run on. The records stay as they are."""
        self._loop = None
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        ends = [one.detach() if detach else one.close("the endpoint stops") for one in self._deployments.values()]
        await asyncio.gather(*ends)

    # -- one endpoint ----------------------------------------------------------------------------------------------
    def _schedule(self, name: str) -> None:
        if self._loop is None:
            return
        if name in self._tasks:
            self._changed_meanwhile.add(name)
        else:
            self._tasks[name] = asyncio.create_task(self._settle(name), name=f"settle {name}")

    async def _settle(self, name: str) -> None:
        text = "cannot bring endpoint %s to its recorded state; retrying in %g s"
        try:
            with outer_edge(log, text, name, RETRY_S, fields=about(endpoint=name)) as edge:
                await self._bring(name)
            if edge.fault is not None:
                asyncio.get_running_loop().call_later(RETRY_S, self._schedule, name)
        finally:
            del self._tasks[name]

    async def _bring(self, name: str) -> None:
        while True:
            self._changed_meanwhile.discard(name)
            endpoint = await asyncio.to_thread(self._store.endpoint, name)
            if endpoint is not None:
                await self._act(endpoint)
            if name not in self._changed_meanwhile:
                return

    async def _act(self, endpoint: EndpointRecord) -> None:
        match endpoint.status:
            case EndpointStatus.CREATING:
                await self._create(endpoint)
            case EndpointStatus.UPDATING:
                await self._update(endpoint)
            case EndpointStatus.ROLLING_BACK if endpoint.rollout is not None:
                await self.rollouts.drive(endpoint, self._deployment(endpoint))
            case EndpointStatus.ROLLING_BACK:
                await self._record(endpoint, EndpointEvent.ROLLED_BACK)
            case EndpointStatus.DELETING:
                await self._delete(endpoint)
            case EndpointStatus.IN_SERVICE:
                await self._resize(endpoint)
            case EndpointStatus.FAILED | EndpointStatus.UPDATE_ROLLBACK_FAILED:
                pass

    async def _resize(self, endpoint: EndpointRecord) -> None:
        sizes = self._sizes.pop(endpoint.name, {})
        sized = tuple(replace(one, instance_count=sizes.get(one.name, one.instance_count)) for one in endpoint.variants)
        if sized != endpoint.variants:
            status = move(endpoint.status, EndpointEvent.UPDATE)
            updating = replace(endpoint, status=status, pending_variants=sized, rollout=None, failure_reason=None)
            self._changed_meanwhile.add(endpoint.name)
            if not await self._replaced(endpoint, updating):  # another update was quicker
                self._sizes[endpoint.name] = sizes | self._sizes.get(endpoint.name, {})

    async def _create(self, endpoint: EndpointRecord) -> None:
        deployment = self._deployment(endpoint)
        try:
            await deployment.become(endpoint.variants)
        except DeploymentFailed as failure:
            await self._record(endpoint, EndpointEvent.FAILED, str(failure))
            await deployment.close("its endpoint failed")
        else:
            self._roster.serve(deployment.live)
            await self._record(endpoint, EndpointEvent.READY)

    async def _update(self, endpoint: EndpointRecord) -> None:
        """AWS: "the new fleet first, then traffic shifts, then the old fleet is removed": no request is lost."""
        deployment = self._deployment(endpoint)
        if endpoint.rollout is not None and _in_steps(endpoint, endpoint.rollout, deployment):
            await self.rollouts.drive(endpoint, deployment)
            return
        endpoint = replace(endpoint, rollout=None)
        try:
            await deployment.become(endpoint.pending_variants or endpoint.variants, endpoint.pending_told)
        except DeploymentFailed as failure:
            deployment.give_up()
            await self._record(endpoint, EndpointEvent.FAILED, str(failure))
            self._changed_meanwhile.add(endpoint.name)
        else:
            await self._record(endpoint, EndpointEvent.READY)

    async def _delete(self, endpoint: EndpointRecord) -> None:
        self._roster.stop(endpoint.name)
        self._sizes.pop(endpoint.name, None)
        self.rollouts.forget(endpoint.name)
        deployment = self._deployments.pop(endpoint.name, None)
        if deployment is not None:
            await deployment.close("its endpoint is deleted")
        await self._deleted(endpoint.name)  # before another endpoint may take the name
        await asyncio.to_thread(self._store.remove_endpoint, endpoint.name)

    async def _record(self, endpoint: EndpointRecord, event: EndpointEvent, reason: str | None = None) -> None:
        await self._replaced(endpoint, replace(after(endpoint, event, reason), modified_s=self._epoch()))

    async def _replaced(self, was: EndpointRecord, moved: EndpointRecord) -> bool:
        replaced = await asyncio.to_thread(self._store.replace_endpoint, moved, expected_status=was.status)
        if replaced and moved.status is EndpointStatus.IN_SERVICE and moved.name in self._sizes:
            self._schedule(moved.name)
        return replaced

    async def _serve(self, endpoint: EndpointRecord) -> None:
        deployment = self._deployment(endpoint)
        rollout = endpoint.rollout if endpoint.rollout is not None and endpoint.rollout.fleets else None
        try:
            deployment.start(endpoint.variants, () if rollout is None else endpoint.pending_variants or ())
        except DeploymentFailed as failure:
            log.error("endpoint %s cannot be served: %s", endpoint.name, failure, extra=about(endpoint=endpoint.name))
        else:
            if rollout is not None:
                await self._replaced(endpoint, self.rollouts.resumed(endpoint, deployment))
        self._roster.serve(deployment.live)

    def _deployment(self, endpoint: EndpointRecord) -> Deployment:
        if endpoint.name not in self._deployments:
            self._deployments[endpoint.name] = Deployment(FleetEndpoint(endpoint.name, endpoint.arn), self._factory)
        return self._deployments[endpoint.name]


def _in_steps(endpoint: EndpointRecord, rollout: Rollout, deployment: Deployment) -> bool:
    """Whether the update goes step by step: not one that mends an endpoint between two configurations, and not one that
    brings or removes variants, which AWS refuses."""
    if rollout.phase is not RolloutPhase.PLANNED:
        return True
    names = {one.name for one in endpoint.pending_variants or ()}
    return deployment.live.shift is None and names == set(deployment.live.pools)

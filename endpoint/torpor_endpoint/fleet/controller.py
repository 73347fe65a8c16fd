"""Brings each endpoint from what runs to what its stored record asks for, and writes the result to the store.

The controller is level-triggered: on a change it reads the record and acts on its status, in one task per endpoint.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from torpor_account.log_lines import about
from torpor_endpoint.core.lifecycle import SERVING, EndpointEvent, after, confined, move
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.core.rollouts.rollout import REASON_MAX, Rollout, RolloutPhase
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.rollouts.rollout_driver import LOOK_S, RolloutDriver, Warm, left_cold
from torpor_endpoint.fleet.rollouts.rollout_watch import AlarmsOn, no_alarm
from torpor_endpoint.fleet.settling import Settling
from torpor_endpoint.fleet.variant_change import DeploymentFailed
from torpor_endpoint.storage.store import Store

log = logging.getLogger(__name__)

NO_WAY_BACK = "After a restart the old configuration cannot be served any more, and the new one is served: {why}"


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
        self._sizes: dict[str, dict[str, int]] = {}  # by endpoint and variant, what is to be recorded yet
        self._settling = Settling(self._bring, "endpoint", lambda name: about(endpoint=name))
        self.changed = self._settling.changed
        self.under_way = self._settling.under_way
        leave_s = factory.timing.grace_s
        self.rollouts = RolloutDriver(epoch, self._replaced, alarms_on=alarms_on, warm=warm, pace=pace, leave_s=leave_s)

    async def start(self) -> None:
        """Serve every endpoint in the store, and finish what a restart interrupted."""
        self._settling.start()
        for endpoint in await asyncio.to_thread(self._store.endpoints):
            if endpoint.status in SERVING:
                await self._serve(endpoint)
            self._settling.schedule(endpoint.name)

    def resized(self, name: str, variant: str, size: int) -> None:
        """The number of a variant's instances has changed, as copies of inference components come or go: the endpoint's
        status is `Updating` until it has them. While another update is under way it is recorded after that. Called on
        the event loop."""
        self._sizes.setdefault(name, {})[variant] = size
        self._settling.schedule(name)

    async def watch_rollouts(self, pause: Callable[[float], Awaitable[None]]) -> None:
        """Look once a second whether an alarm or the time moves a rollout, for ever."""
        while True:
            for name in self.rollouts.due():
                self._settling.schedule(name)
            await pause(LOOK_S)

    async def close(self, *, detach: bool = False) -> None:
        """Stop the tasks and every instance; with `detach` the instances run on. The records stay as they are."""
        await self._settling.close()
        ends = [one.detach() if detach else one.close("the endpoint stops") for one in self._deployments.values()]
        await asyncio.gather(*ends)

    # -- one endpoint ----------------------------------------------------------------------------------------------
    async def _bring(self, name: str) -> None:
        endpoint = await asyncio.to_thread(self._store.endpoint, name)
        if endpoint is not None:
            await self._act(endpoint)

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
            self._settling.schedule(endpoint.name)
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
            self._settling.schedule(endpoint.name)
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
            self._settling.schedule(moved.name)
        return replaced

    async def _serve(self, endpoint: EndpointRecord) -> None:
        deployment = self._deployment(endpoint)
        rollout = endpoint.rollout if endpoint.rollout is not None and endpoint.rollout.fleets else None
        try:
            deployment.start(endpoint.variants, () if rollout is None else endpoint.pending_variants or ())
        except DeploymentFailed as failure:
            log.error("endpoint %s cannot be served: %s", endpoint.name, failure, extra=about(endpoint=endpoint.name))
            await self._serve_pending(endpoint, deployment, failure)
        else:
            if rollout is not None:
                await self._replaced(endpoint, self.rollouts.resumed(endpoint, deployment))
        self._roster.serve(deployment.live)

    async def _serve_pending(self, endpoint: EndpointRecord, deployment: Deployment, why: DeploymentFailed) -> None:
        """After a restart in the middle of an update, where the old configuration can no longer be served: the new one
        is, at once. Where that cannot be either, the update has failed."""
        if endpoint.pending_variants is None:
            return
        fields = about(endpoint=endpoint.name)
        try:
            deployment.start(endpoint.pending_variants)
        except DeploymentFailed as failure:
            log.error("endpoint %s: nor can its new configuration: %s", endpoint.name, failure, extra=fields)
            deployment.live.trouble = str(why)
            updating = endpoint.status is EndpointStatus.UPDATING
            back = after(endpoint, EndpointEvent.FAILED, str(failure)) if updating else endpoint
            if back.status is EndpointStatus.ROLLING_BACK:
                back = replace(after(back, EndpointEvent.ROLLED_BACK), modified_s=self._epoch())
                await self._replaced(endpoint, back)
        else:
            text = "endpoint %s serves the configuration that it was being updated to, since it cannot go back"
            log.warning(text, endpoint.name, extra=fields)
            reason = f"{endpoint.failure_reason or ''} {NO_WAY_BACK.format(why=why)}".strip()[:REASON_MAX]
            await self._replaced(endpoint, replace(confined(endpoint, reason), modified_s=self._epoch()))

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

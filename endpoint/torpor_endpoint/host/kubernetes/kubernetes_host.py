"""Runs instances as pods: one Deployment of one pod for each slot. Kubernetes decides on which machine.

A launch declares a Deployment without a pod, gives it its Secret, and lets it have its pod. Two processes that launch
the same at once get one instance. A launch that does not come to its end is deleted, since the credentials in its
Secret are void and no Secret is changed; so is a Deployment of another configuration that has the name. Deleting a
Deployment deletes everything. What becomes of it is followed, never polled. The disk is the pod's, and ends with it.
A variant has a disruption budget from its first launch until it is vacated.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar

from torpor_container.transport.greeting import secret_of
from torpor_endpoint.host import HostError, Launched, LaunchSpec, Slot
from torpor_endpoint.host.kubernetes import preflight
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient, refused_with
from torpor_endpoint.host.kubernetes.api.watching import ObjectWatch
from torpor_endpoint.host.kubernetes.disruption_budgets import DisruptionBudgets
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.manifests import Generation, deployment, scaled, secret
from torpor_endpoint.host.kubernetes.object_names import DEPLOYMENT, slot_of
from torpor_endpoint.host.kubernetes.pods import ORDINARY
from torpor_endpoint.host.kubernetes.slot_end import SlotEnd, delete_deployment
from torpor_endpoint.host.kubernetes.slots import LaunchedDeployment, PodSlot
from torpor_endpoint.host.launch_names import deployment_digest

if TYPE_CHECKING:
    from torpor_endpoint.peers.deployment_peers import DeploymentPeers

GONE_WITHIN_S = 10.0
"""How much longer than its grace period a pod may take to go. One on a lost machine stays until that is back."""
CLOSE_WITHIN_S = 10.0
LAST_GRACE_S = 1.0
NAME_PAUSE_S = 0.25
NAME_TRIES = 40

log = logging.getLogger(__name__)

Object = dict[str, Any]
Key = TypeVar("Key")
One = TypeVar("One")


class KubernetesHost:
    """Instances in one namespace of a cluster. `keep`: they run on when the host closes. `peers`: they speak TLS, with
    its certificates."""

    def __init__(
        self,
        client: KubernetesClient,
        settings: KubernetesSettings,
        deployment_secret: bytes,
        keep: bool = False,
        peers: "DeploymentPeers | None" = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._secret = deployment_secret
        self._digest = deployment_digest(deployment_secret)
        self._keep = keep
        self._peers = peers
        self._owner: Object | None = None
        self._budgets = DisruptionBudgets(client, self._digest) if settings.disruption_budgets else None
        self._slots: dict[Slot, PodSlot] = {}
        self._ends: dict[Slot, list[SlotEnd]] = {}
        self._followed: dict[str, list[PodSlot]] = {}  # these and those, by the label of the slot
        self._launching: dict[Slot, asyncio.Lock] = {}
        selector = f"{DEPLOYMENT}={self._digest}"
        self._deployments = ObjectWatch(client, "deployments", selector, self._look)
        self._pods = ObjectWatch(client, "pods", selector, self._look)
        self._watches: list[asyncio.Task[None]] = []

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        self._owner = await preflight.check(self._client, self._settings, self._digest)
        await asyncio.gather(self._deployments.begin(), self._pods.begin())
        if self._budgets is not None:
            await self._budgets.open(self._owner, kept)
        for name, found in list(self._deployments.objects.items()):
            slot, ends = slot_of(found["metadata"]), found["metadata"].get("deletionTimestamp")
            if slot is None or (slot.endpoint, slot.variant) not in kept or not found["spec"].get("replicas"):
                await delete_deployment(self._client, name, found["metadata"]["uid"])  # or its launch was cut short
            elif not ends:
                made = LaunchedDeployment.of(found, slot, self._digest)
                self._slots[slot] = self._follow(made, None, adopted=True)
        self._look(None)
        self._watches = [asyncio.create_task(one.run()) for one in (self._deployments, self._pods)]

    async def launch(self, spec: LaunchSpec) -> Launched:
        async with self._launching.setdefault(spec.slot, asyncio.Lock()):
            present = self._slots.get(spec.slot)
            if present is not None and present.present.serves(spec):
                if present.spec is None:
                    present.follow_from(spec)
                return present.present
            if present is not None:
                await self.terminate(spec.slot, 0.0)  # what the last incarnation left behind
            await self._name_free(spec.slot)
            if self._budgets is not None:
                await self._budgets.cover(spec.slot)
            launch = Generation(spec.slot, self._digest, token_hex(4), spec.configuration)
            with ExitStack() as unfinished:  # whatever ends the launch, nothing of it may stay
                begun = LaunchedDeployment(launch, "", 0, 0.0)
                unfinished.callback(lambda: self._begin_end(self._follow(begun, spec, adopted=False), 0.0))
                made = await self._declared(launch, spec)
                unfinished.pop_all()
            present = self._slots[spec.slot] = self._follow(made, spec, adopted=False)
            self._look((present.label,))
            return present.present

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        """One on a machine that is lost is given up after a while: the cluster ends it when the machine is back."""
        if (present := self._slots.pop(slot, None)) is not None:
            self._begin_end(present, grace_s)
        ends = self._ends_of(slot)
        try:
            if ends:
                await asyncio.wait([end.task for end in ends], timeout=grace_s + GONE_WITHIN_S)
        except asyncio.CancelledError:
            for end in ends:
                end.hasten()
            raise
        if not all(end.deleted.is_set() for end in ends):
            raise HostError(f"the cluster has not deleted the Deployment of {slot} yet")

    def list(self) -> tuple[Launched, ...]:
        return tuple(one.present for one in self._slots.values())

    async def placed(self, slot: Slot) -> Launched:
        return await self._slots[slot].placed()

    async def exited(self, slot: Slot) -> Launched:
        return await self._slots[slot].exited()

    def health(self, slot: Slot) -> Launched | None:
        present = self._slots.get(slot)
        return None if present is None else present.present

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        """A disk has gone with its pod."""
        if self._budgets is not None:
            await self._budgets.uncover(endpoint, variant)

    async def close(self) -> None:
        """Stop everything, or let go of what runs. It takes CLOSE_WITHIN_S at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN_S):
                for end in self._all_ends() if self._keep else ():
                    await end.deleted.wait()  # nobody may adopt it
                slots = () if self._keep else {*self._slots, *self._ends}
                ends = (self.terminate(slot, LAST_GRACE_S) for slot in slots)
                await asyncio.gather(*ends, return_exceptions=True)
                if self._budgets is not None and not self._keep:
                    await self._budgets.close()
        left = self._all_ends()
        tasks = [*self._watches, *(end.task for end in left)]
        for task in tasks:
            task.cancel()
        followed = (*self._slots.values(), *(end.ended for end in left))
        await asyncio.gather(*tasks, *(one.close() for one in followed), return_exceptions=True)
        self._slots.clear()
        await self._client.close()

    # -- what the cluster shows -------------------------------------------------------------------------------------
    def _follow(self, made: LaunchedDeployment, spec: LaunchSpec | None, adopted: bool) -> PodSlot:
        """A launch that takes in what the cluster shows of it, until its end has come to its own end."""
        one = PodSlot(self._client, made, self._secret, spec, adopted, self._peers)
        self._followed.setdefault(one.label, []).append(one)
        return one

    def _look(self, labels: Collection[str] | None) -> None:
        """Have the slots of these labels take in what the cluster shows now; None: every slot."""
        for label in list(self._followed) if labels is None else labels:
            pods = self._pods.of_slot(label)
            for one in self._followed.get(label, ()):
                if reason := one.look(self._deployments.objects, pods):
                    log.log(logging.INFO if reason in ORDINARY else logging.WARNING, "%s waits: %s", one.slot, reason)

    # -- the ends ---------------------------------------------------------------------------------------------------
    def _begin_end(self, ended: PodSlot, grace_s: float) -> None:
        end = SlotEnd(self._client, ended, lambda: self._pods.of_slot(ended.label), grace_s)
        self._ends.setdefault(ended.slot, []).append(end)
        end.task.add_done_callback(lambda _: self._forget(end))

    def _forget(self, end: SlotEnd) -> None:
        """Nothing of it is left in the cluster."""
        slot, label = end.ended.slot, end.ended.label
        _take_out(self._ends, slot, end)
        _take_out(self._followed, label, end.ended)

    def _all_ends(self) -> Sequence[SlotEnd]:
        return [end for ends in self._ends.values() for end in ends]

    def _ends_of(self, slot: Slot) -> Sequence[SlotEnd]:
        return list(self._ends.get(slot, ()))

    async def _name_free(self, slot: Slot) -> None:
        """Wait until the Deployments of earlier launches are deleted. Their pods may still end. Raises HostError."""
        try:
            async with asyncio.timeout(GONE_WITHIN_S):
                for end in self._ends_of(slot):
                    await end.deleted.wait()
        except TimeoutError:
            raise HostError(f"the cluster has not deleted the Deployment of {slot} yet") from None

    # -- the launch ------------------------------------------------------------------------------------------------
    async def _declared(self, wanted: Generation, spec: LaunchSpec) -> LaunchedDeployment:
        """The slot's Deployment with its Secret and its pod, whoever made it. Raises HostError."""
        made = LaunchedDeployment.of(await self._deployment(wanted, spec), spec.slot, self._digest)
        if not made.replicas:
            generation = made.launch.generation
            proving = {} if self._peers is None else self._peers.environment(generation)
            body = secret(made.launch, spec, secret_of(self._secret, generation), made.uid, proving)
            with refused_with(409):
                await self._client.call("create", "secrets", body=body)
            await self._client.call("patch", "deployments", made.launch.name, scaled(1))
        return made

    async def _deployment(self, wanted: Generation, spec: LaunchSpec) -> Object:
        """The Deployment of this name: a new one, or the one of this configuration that is there already."""
        body = deployment(wanted, spec, self._settings, self._owner)
        for _ in range(NAME_TRIES):
            with refused_with(409):
                return await self._client.call("create", "deployments", body=body)
            with refused_with(404):
                found = await self._client.call("get", "deployments", wanted.name)
                if not found["metadata"].get("deletionTimestamp"):
                    made = LaunchedDeployment.of(found, spec.slot, self._digest)
                    if made.launch.configuration in ("", spec.configuration):
                        return found
                    await delete_deployment(self._client, wanted.name, made.uid)
            await asyncio.sleep(NAME_PAUSE_S)
        raise HostError(f"the cluster does not delete the Deployment {wanted.name}: see what holds it there")


def _take_out(lists: dict[Key, list[One]], key: Key, one: One) -> None:
    """Take one out of the list of a key, and the key with its last one."""
    lists[key].remove(one)
    if not lists[key]:
        del lists[key]

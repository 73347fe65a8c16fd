"""One endpoint's crews, brought from what they are to what they should be: new ones first, a swap, old ones go."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from torpor_endpoint.core.scaling import after_update, at_start, may_sleep, size_range
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.roster import LiveEndpoint, same_machine
from torpor_endpoint.fleet.variant_instances import SlotNumbers, VariantInstances
from torpor_endpoint.storage.records import Variant

NO_PING = (
    "The primary container for production variant {variant} did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)
NO_ARTIFACT = (
    'Failed to download model data for container "container_1" from URL: "{url}". Please ensure that there is an '
    "object located at the URL and that the role passed to CreateModel has permissions to download the object."
)
UNKNOWN_IMAGE = (
    "The image {image} of production variant {variant} is not one that this endpoint can run: nothing is pulled from a "
    "registry. Use `torpor` or an AWS XGBoost or scikit-learn image, or give a file with --images: a row with "
    '`as = "built-in"` lets the built-in container stand in for it, one with `command` starts its own server. '
    "`--unknown-images built-in` lets the built-in container stand in for every such image."
)


class DeploymentFailed(Exception):
    """The message is the endpoint's FailureReason."""


@dataclass(frozen=True)
class VariantChange:
    """What a deployment does to one crew: from how many instances to how many, under which variant.

    While it is under way the crew may be woken, and its callers may make it grow: then its size is theirs.
    """

    crew: VariantInstances
    variant: Variant
    before: int
    after: int  # what it waits for
    why: str
    fresh: bool = False
    told: bool = False  # `after` is what somebody named, and not what the crew happened to have

    @property
    def most(self) -> int:
        """None goes before the change is sure."""
        return max(self.before, self.after)

    def begin(self) -> None:
        self.crew.at_least = self.after
        self.crew.scale(self.most, self.why)

    def undo(self) -> None:
        self.crew.at_least = 0
        ours = self.crew.size == self.most and not self.crew.traffic.in_flight
        if ours or size_range(self.crew.variant) is None:
            self.crew.scale(self.before, "the update failed")

    def finish(self) -> None:
        self.crew.at_least = 0
        self.crew.variant = self.variant
        self.crew.told = self.crew.told or self.told
        named = self.fresh or self.told
        size = self.after if named else after_update(self.variant, self.crew.size)
        if size or not self.crew.traffic.in_flight:  # a call may have woken it meanwhile
            self.crew.scale(size, self.why)


class Deployment:
    """The crews of one endpoint."""

    def __init__(self, live: LiveEndpoint, yard: InstanceFactory) -> None:
        self.live = live
        self._yard = yard
        self._numbers: WeakValueDictionary[str, SlotNumbers] = (
            WeakValueDictionary()
        )  # by variant, as long as it has a crew
        self._closing: set[asyncio.Task[None]] = set()
        self._ended = False

    async def become(self, variants: Sequence[Variant], told: Collection[str] = ()) -> None:
        """Serve exactly these variants. Raises DeploymentFailed and leaves what served before as it was.

        `told` names those whose size somebody asked for, be it another one or not.
        """
        changes = [self._change(variant, variant.name in told) for variant in variants]
        try:
            for change in changes:
                change.begin()
            await asyncio.gather(*(_all_ready(change.crew, change.after) for change in changes))
        except BaseException:
            for change in changes:
                change.undo()
            await asyncio.gather(*(self._dismiss(one.crew, "its deployment failed") for one in changes if one.fresh))
            raise
        self._swap(changes)

    def start(self, variants: Sequence[Variant]) -> None:
        """Serve these variants without waiting for them: after a restart, requests wait instead.

        What may sleep is asleep until somebody calls: a restart is no call.
        Raises DeploymentFailed, which is its trouble until it is updated or started again; then none of them is served.
        """
        try:
            crews = [self._crew_for(variant) for variant in variants]
        except DeploymentFailed as failure:
            self.live.trouble = str(failure)
            raise
        self.live.crews = {crew.variant.name: crew for crew in crews}
        for crew in crews:
            if not may_sleep(crew.variant):
                crew.scale(at_start(crew.variant), "the endpoint started")

    async def close(self, why: str) -> None:
        """Drain and stop everything. The disks stay, for another start or for whoever deletes the endpoint."""
        self._ended = True
        crews, self.live.crews = self.live.crews, {}
        await asyncio.gather(*(crew.close(why) for crew in crews.values()), *self._closing)

    def _crew_for(self, variant: Variant) -> VariantInstances:
        present = self.live.crews.get(variant.name)
        if present is not None and same_machine(present.variant, variant):
            return present
        if self._yard.images.find(variant.container.image) is None:
            raise DeploymentFailed(UNKNOWN_IMAGE.format(image=variant.container.image, variant=variant.name))
        numbers = self._numbers.setdefault(variant.name, SlotNumbers())
        return VariantInstances(self.live.name, variant, self._yard, numbers)

    def _change(self, variant: Variant, told: bool) -> VariantChange:
        """A crew that stays keeps the size that its callers gave it, unless the update names one."""
        crew = self._crew_for(variant)
        if crew is not self.live.crews.get(variant.name):
            return VariantChange(crew, variant, crew.size, at_start(variant), "deployed", fresh=True)
        told = told or variant.instance_count != crew.variant.instance_count
        after = at_start(variant) if told else after_update(variant, crew.size)
        return VariantChange(crew, variant, crew.size, after, "updated", told=told)

    def _swap(self, changes: Sequence[VariantChange]) -> None:
        kept = {change.crew for change in changes}
        old = [crew for crew in self.live.crews.values() if crew not in kept]
        for change in changes:
            change.finish()
        self.live.crews = {change.variant.name: change.crew for change in changes}
        self.live.trouble = None
        for crew in old:
            closing = asyncio.create_task(self._dismiss(crew, "it was replaced by an update"))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _dismiss(self, crew: VariantInstances, why: str) -> None:
        """Close a crew that an update leaves without traffic, and tell when it was the last of its variant."""
        await crew.close(why)
        name = crew.variant.name
        if name not in self.live.crews and self._numbers[name].all_free and not self._ended:
            await self._yard.vacated(self.live.name, name)


async def _all_ready(crew: VariantInstances, size: int) -> None:
    await crew.until(lambda: len(crew.ready) >= size or crew.hopeless or crew.closed)
    if len(crew.ready) < size and crew.trouble is not None:
        raise DeploymentFailed(_failure_reason(crew.variant, crew.trouble.reason))


def _failure_reason(variant: Variant, reason: str) -> str:
    """AWS's sentence first, then what really happened; 1024 characters at most."""
    sentence = NO_ARTIFACT if reason.startswith("Failed to download model data") else NO_PING
    shown = sentence.format(variant=variant.name, url=variant.container.model_data_url)
    return f"{shown} ({reason})"[:1024]

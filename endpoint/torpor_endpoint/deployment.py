"""One endpoint's crews, brought from what they are to what they should be: new ones first, a swap, old ones go."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from torpor_endpoint.core.scaling import at_start, may_sleep
from torpor_endpoint.crew import Crew, Numbers, Yard
from torpor_endpoint.fleet import LiveEndpoint, same_machine
from torpor_endpoint.records import Variant

START_ATTEMPTS = 3
"""A new crew whose instance fails to start this often in a row fails its deployment."""


NO_PING = (
    "The primary container for production variant {variant} did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)
NO_ARTIFACT = (
    'Failed to download model data for container "container_1" from URL: "{url}". Please ensure that there is an '
    "object located at the URL and that the role passed to CreateModel has permissions to download the object."
)


class DeploymentFailed(Exception):
    """The message is the endpoint's FailureReason."""


@dataclass(frozen=True)
class Change:
    """What a deployment does to one crew: from how many instances to how many, under which variant."""

    crew: Crew
    variant: Variant
    before: int
    after: int
    fresh: bool


class Deployment:
    """The crews of one endpoint."""

    def __init__(self, live: LiveEndpoint, yard: Yard) -> None:
        self.live = live
        self._yard = yard
        self._numbers = Numbers()
        self._closing: set[asyncio.Task[None]] = set()

    async def become(self, variants: Sequence[Variant]) -> None:
        """Serve exactly these variants. Raises DeploymentFailed and leaves what served before as it was."""
        changes = [self._change(variant) for variant in variants]
        try:
            for change in changes:
                change.crew.scale(max(change.before, change.after))
            await asyncio.gather(*(_all_ready(change.crew, change.after) for change in changes))
        except BaseException:
            for change in changes:
                change.crew.scale(change.before)
            await asyncio.gather(*(change.crew.close() for change in changes if change.fresh))
            raise
        self._swap(changes)

    def start(self, variants: Sequence[Variant]) -> None:
        """Serve these variants without waiting for them: after a restart, requests wait instead."""
        for variant in variants:
            crew = self.live.crews[variant.name] = self._crew_for(variant)
            crew.scale(at_start(variant))

    async def close(self) -> None:
        """Drain and stop everything."""
        crews, self.live.crews = self.live.crews, {}
        await asyncio.gather(*(crew.close() for crew in crews.values()), *self._closing)

    def _crew_for(self, variant: Variant) -> Crew:
        present = self.live.crews.get(variant.name)
        if present is not None and same_machine(present.variant, variant):
            return present
        if self._yard.images.find(variant.container.image) is None:
            raise DeploymentFailed(
                f"The image {variant.container.image} of production variant {variant.name} is not one that this "
                "endpoint can run: use `torpor` or an AWS XGBoost or scikit-learn image, or say how to start its "
                "server in a file for --images."
            )
        return Crew(self.live.name, variant, self._yard, self._numbers)

    def _change(self, variant: Variant) -> Change:
        """A variant that sleeps, and stays what it is, is not woken for an update."""
        crew = self._crew_for(variant)
        fresh = crew is not self.live.crews.get(variant.name)
        asleep = not fresh and not crew.size and may_sleep(variant)
        return Change(crew, variant, crew.size, 0 if asleep else at_start(variant), fresh)

    def _swap(self, changes: Sequence[Change]) -> None:
        kept = {change.crew for change in changes}
        old = [crew for crew in self.live.crews.values() if crew not in kept]
        for change in changes:
            change.crew.variant = change.variant
            if change.after or not change.crew.in_flight:  # a call may have woken it meanwhile
                change.crew.scale(change.after)
        self.live.crews = {change.variant.name: change.crew for change in changes}
        for crew in old:
            closing = asyncio.create_task(crew.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


async def _all_ready(crew: Crew, size: int) -> None:
    await crew.until(lambda: len(crew.ready) >= size or _hopeless(crew) or crew.closed)
    if len(crew.ready) < size and crew.trouble is not None:
        raise DeploymentFailed(_failure_reason(crew.variant, crew.trouble.reason))


def _hopeless(crew: Crew) -> bool:
    return crew.trouble is not None and (crew.trouble.final or crew.trouble.failures >= START_ATTEMPTS)


def _failure_reason(variant: Variant, reason: str) -> str:
    """AWS's sentence first, then what really happened; 1024 characters at most."""
    sentence = NO_ARTIFACT if reason.startswith("Failed to download model data") else NO_PING
    shown = sentence.format(variant=variant.name, url=variant.container.model_data_url)
    return f"{shown} ({reason})"[:1024]

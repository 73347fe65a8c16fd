"""One endpoint's crews, brought from what they are to what they should be: new ones first, a swap, old ones go."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torpor_endpoint.core.scaling import at_start, may_sleep
from torpor_endpoint.crew import Crew, Numbers
from torpor_endpoint.fleet import LiveEndpoint, same_machine
from torpor_endpoint.host import Host, LaunchSpec, Slot
from torpor_endpoint.images import container_kind
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
class Yard:
    """What crews are made with."""

    host: Host
    spec: Callable[[Variant, Slot], LaunchSpec]


class Deployment:
    """The crews of one endpoint."""

    def __init__(self, live: LiveEndpoint, yard: Yard) -> None:
        self.live = live
        self._yard = yard
        self._numbers = Numbers()
        self._closing: set[asyncio.Task[None]] = set()

    async def become(self, variants: Sequence[Variant]) -> None:
        """Serve exactly these variants. Raises DeploymentFailed and leaves what served before as it was."""
        wanted = {variant.name: (self._crew_for(variant), variant) for variant in variants}
        fresh = [crew for crew, _ in wanted.values() if crew not in self.live.crews.values()]
        before = {crew: crew.size for crew, _ in wanted.values()}
        sizes = {crew: self._size(crew, variant) for crew, variant in wanted.values()}
        try:
            for crew, size in sizes.items():
                crew.scale(max(crew.size, size))
            await asyncio.gather(*(_all_ready(crew, size) for crew, size in sizes.items()))
        except BaseException:
            for crew, size in before.items():
                crew.scale(size)
            await asyncio.gather(*(crew.close() for crew in fresh))
            raise
        self._swap(wanted, sizes)

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
        if container_kind(variant.container.image) is None:
            raise DeploymentFailed(
                f"The image {variant.container.image} of production variant {variant.name} is not one that this "
                "endpoint can run: use `torpor` or an AWS XGBoost or scikit-learn image."
            )
        return Crew(self.live.name, variant, self._yard.spec, self._yard.host, self._numbers)

    def _size(self, crew: Crew, variant: Variant) -> int:
        """Instances that a deployment waits for. A variant that sleeps, and stays what it is, is not woken for it."""
        asleep = crew in self.live.crews.values() and not crew.size
        return 0 if asleep and may_sleep(variant) else at_start(variant)

    def _swap(self, wanted: dict[str, tuple[Crew, Variant]], sizes: dict[Crew, int]) -> None:
        old = [crew for crew in self.live.crews.values() if crew not in {kept for kept, _ in wanted.values()}]
        for crew, variant in wanted.values():
            crew.variant = variant
            crew.scale(sizes[crew] or crew.size)  # a call may have woken it meanwhile
        self.live.crews = {name: crew for name, (crew, _) in wanted.items()}
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

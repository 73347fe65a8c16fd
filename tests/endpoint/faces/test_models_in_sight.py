"""Whether one model is in memory: instances are asked about that model, and not for all that they have."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamBroken
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.faces.finding_models import FoundModel
from torpor_endpoint.faces.finding_targets import Targets
from torpor_endpoint.faces.models_in_sight import ModelsInSight
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

MANY = Variant("v", "m", (Container("torpor", "s3://b/p/", multi_model=True),))


class AskedContainer:
    """It has these models, and knows what it was asked. None: it gives no answer."""

    def __init__(self, tiers: dict[str, str] | None) -> None:
        self.definition = MANY.containers[0]
        self.asked: list[tuple[str, Any]] = []
        self._tiers = tiers

    @property
    def upstream(self) -> "AskedContainer":
        return self

    async def send(self, method: str, path: str, headers: object, body: Sequence[bytes], timeout_s: float) -> Any:
        names = json.loads(b"".join(body))["models"]
        self.asked.append((path, names))
        if self._tiers is None:
            raise UpstreamBroken("it says nothing")
        tiers = {name: self._tiers[name] for name in names if name in self._tiers}
        return UpstreamAnswer(200, [], [json.dumps({"tiers": tiers}).encode()])


def test_instances_are_asked_about_the_one_model() -> None:
    containers = [AskedContainer({"a": "disk", "b": "memory"}), AskedContainer(None), AskedContainer({"a": "memory"})]

    async def loaded(*names: str) -> list[bool]:
        roster = FleetRoster(lambda endpoint: None)
        factory = InstanceFactory(cast(Any, None), lambda variant, slot: LaunchSpec(slot), lambda: 0.0)
        pool = InstancePool("shop", MANY, factory, SlotNumbers())
        for number, one in enumerate(containers):
            pool.ready.offer(number, Incarnation(Slot("shop", "v", number), f"i-{number}", [cast(LiveContainer, one)]))
        live = FleetEndpoint("shop", "arn", {"v": pool})
        roster.serve(live)
        sight = ModelsInSight(roster, cast(Targets, None))
        return [await sight.is_loaded(FoundModel(live, name, []), name) for name in names]

    assert asyncio.run(loaded("a", "b", "c")) == [True, True, False]
    assert [one.asked for one in containers] == [[(wire.TIERS, [name]) for name in ("a", "b", "c")]] * 3

"""A policy that does not keep a rare model: it is served and unloaded at once, and the popular models stay."""

import asyncio

from tests.container.helpers.keeper_with_fakes import SIZE_BYTES, FakeDiskTier, FakeLoader, FakeModels
from tests.helpers.waiting import PATIENCE_S
from torpor_container.core.eviction import TinyLFU
from torpor_container.core.residency import Admit, Decision, Lead, Residency
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.keeper import Keeper, WaitLimits


def residency(room: int, story: list[Decision]) -> Residency:
    return Residency(room * SIZE_BYTES, TinyLFU(), 4, story.append)


def visit(instance: Residency, name: str) -> bool:
    """One call from the first byte to the last. True if the model left at once."""
    if isinstance(instance.request(name, 0.0), Lead):
        assert isinstance(instance.admit(name, SIZE_BYTES, 0.0), Admit)
        instance.loaded(name, SIZE_BYTES, 0.5, 0.0)
    assert not instance.drop_unless_kept(name, 1.0), "nobody leaves while it is in use"
    instance.released(name)
    return instance.drop_unless_kept(name, 1.0)


def test_a_rare_model_on_a_full_instance_is_unloaded_and_the_next_uses_its_room() -> None:
    story: list[Decision] = []
    instance = residency(3, story)
    assert [visit(instance, name) for name in "abab"] == [False] * 4
    assert [visit(instance, name) for name in "cde"] == [True] * 3
    assert instance.planned_bytes == 2 * SIZE_BYTES
    for name in "cde":
        instance.unloaded(name, 0.1, 2.0)
    left = [decision for decision in story if decision.action == "evict"]
    assert [(decision.model, decision.for_model) for decision in left] == [("c", ""), ("d", ""), ("e", "")]
    assert left[0].reason.startswith("served, and not kept by the policy")
    assert {name for name, _ in instance} == {"a", "b"}


def test_the_keeper_unloads_a_rare_model_after_its_last_call() -> None:
    async def story() -> None:
        models, instance = FakeModels(), residency(3, [])
        loader = FakeLoader(models)
        keeper = Keeper(FakeDiskTier(models), loader, instance, WaitLimits(), asyncio.get_running_loop().time)

        async def call(name: str) -> None:
            async with keeper.lend(name, Timing(asyncio.get_running_loop().time)):
                await models.pause()

        for name in "aabb":
            await call(name)
        await asyncio.gather(call("c"), call("c"))
        await keeper.close()
        assert {runner.name for runner in loader.loaded} == {"a", "b"}
        assert models.counts()["load", "c"] == models.counts()["unload", "c"] == 1

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))

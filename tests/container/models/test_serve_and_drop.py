"""A policy that does not keep a visitor: it is served, leaves at once, and the popular models are left alone."""

import asyncio

from tests.container.keeper_site import SIZE_BYTES, FakeDiskTier, FakeLoader, Scene
from torpor_container.core.policies import TinyLFU
from torpor_container.core.residency import Admit, Decision, Lead, Residency
from torpor_container.measuring.timing import Timing
from torpor_container.models.keeper import Keeper, WaitLimits


def residency(room: int, story: list[Decision]) -> Residency:
    return Residency(room * SIZE_BYTES, TinyLFU(), 4, story.append)


def visit(site: Residency, name: str) -> bool:
    """One call from the first byte to the last. True if the model left at once."""
    if isinstance(site.request(name, 0.0), Lead):
        assert isinstance(site.admit(name, SIZE_BYTES, 0.0), Admit)
        site.loaded(name, SIZE_BYTES, 0.5, 0.0)
    assert not site.drop_unless_kept(name, 1.0), "nobody leaves while it is in use"
    site.released(name)
    return site.drop_unless_kept(name, 1.0)


def test_a_visitor_to_a_full_instance_leaves_and_the_next_finds_its_room() -> None:
    story: list[Decision] = []
    site = residency(3, story)
    assert [visit(site, name) for name in "abab"] == [False] * 4
    assert [visit(site, name) for name in "cde"] == [True] * 3
    assert site.planned_bytes == 2 * SIZE_BYTES
    for name in "cde":
        site.unloaded(name, 0.1, 2.0)
    left = [decision for decision in story if decision.action == "evict"]
    assert [(decision.model, decision.for_model) for decision in left] == [("c", ""), ("d", ""), ("e", "")]
    assert left[0].reason.startswith("served, and not kept by the policy")
    assert {name for name, _ in site} == {"a", "b"}


def test_the_keeper_lets_a_visitor_go_when_its_last_caller_is_served() -> None:
    async def story() -> None:
        scene, site = Scene(), residency(3, [])
        loader = FakeLoader(scene)
        keeper = Keeper(FakeDiskTier(scene), loader, site, WaitLimits(), asyncio.get_running_loop().time)

        async def call(name: str) -> None:
            async with keeper.lend(name, Timing(asyncio.get_running_loop().time)):
                await scene.pause()

        for name in "aabb":
            await call(name)
        await asyncio.gather(call("c"), call("c"))
        await keeper.close()
        assert {runner.name for runner in loader.loaded} == {"a", "b"}
        assert scene.counts()["load", "c"] == scene.counts()["unload", "c"] == 1

    asyncio.run(asyncio.wait_for(story(), 10.0))

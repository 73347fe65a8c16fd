"""The disruption budgets of variants, at a fake cluster whose containers are processes."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.endpoint.helpers.fake_cluster.hosts import SETTINGS, ClusterGround
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_endpoint.host import HostError, LaunchSpec, Resources, Slot
from torpor_endpoint.host.kubernetes.manifests import Generation, deployment, disruption_budget

RESOURCE = "poddisruptionbudgets"
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "torpor", "uid": "u"}


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def ground(runner: asyncio.Runner, tmp_path: Path) -> Iterator[ClusterGround]:
    shared = ClusterGround(tmp_path / "cluster")
    runner.run(shared.start())
    yield shared
    runner.run(shared.close())


def spec(endpoint: str, variant: str, number: int = 0) -> LaunchSpec:
    """One that fits on no machine: its pod waits, and no process is started."""
    return LaunchSpec(Slot(endpoint, variant, number), {}, resources=Resources(1, 1024**2))


def covered(ground: ClusterGround) -> set[tuple[str, str]]:
    found = [one["metadata"]["annotations"] for one in ground.cluster.objects.all(RESOURCE)]
    return {(one["torpor/endpoint"], one["torpor/variant"]) for one in found}


def test_a_budget_selects_the_pods_of_its_variant_and_no_others() -> None:
    budget = disruption_budget("Shop", "x" * 63, "0123abcd", OWNER)
    selected = budget["spec"]["selector"]["matchLabels"].items()

    def pod(endpoint: str, variant: str, torpor: str, number: int = 0) -> dict[str, str]:
        launch = Generation(Slot(endpoint, variant, number), torpor, "4f")
        made = deployment(launch, LaunchSpec(launch.slot), SETTINGS, None)["spec"]["template"]
        labels: dict[str, str] = made["metadata"]["labels"]
        return labels

    assert selected <= pod("Shop", "x" * 63, "0123abcd", 7).items()
    for other in (("shop", "x" * 63, "0123abcd"), ("Shop", "y", "0123abcd"), ("Shop", "x" * 63, "4567abcd")):
        assert not selected <= pod(*other).items()
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert budget["metadata"]["ownerReferences"] == [OWNER]
    assert len(budget["metadata"]["name"]) <= 63


def test_a_variant_has_one_from_its_first_launch_until_it_is_vacated(
    ground: ClusterGround, runner: asyncio.Runner
) -> None:
    async def story() -> None:
        host = ground.host()
        await host.open([])
        await asyncio.gather(
            host.launch(spec("shop", "a")), host.launch(spec("shop", "a", 1)), host.launch(spec("shop", "b"))
        )
        assert covered(ground) == {("shop", "a"), ("shop", "b")}
        await host.terminate(Slot("shop", "b", 0), 0.0)
        await host.vacate("shop", "b")
        assert covered(ground) == {("shop", "a")}
        await host.close()
        assert ground.cluster.objects.by_name == {}

    runner.run(asyncio.wait_for(story(), PATIENCE_S))


def test_a_start_deletes_those_of_variants_that_are_served_no_longer(
    ground: ClusterGround, runner: asyncio.Runner
) -> None:
    async def story() -> None:
        before = ground.host(keep=True)
        await before.open([])
        await asyncio.gather(*(before.launch(spec("shop", variant)) for variant in "ab"))
        await before.close()
        after = ground.host()
        await after.open([("shop", "a")])
        assert covered(ground) == {("shop", "a")}
        await after.close()
        await reached(lambda: ground.cluster.objects.by_name == {})

    runner.run(asyncio.wait_for(story(), PATIENCE_S))


def test_without_them_no_right_is_needed_and_none_is_made(ground: ClusterGround, runner: asyncio.Runner) -> None:
    async def story() -> None:
        ground.cluster.denied.add(("create", RESOURCE))
        refused = ground.host()
        with pytest.raises(HostError, match=re.escape('resources: ["poddisruptionbudgets"]')):
            await refused.open([])
        await refused.close()
        host = ground.host(replace(SETTINGS, disruption_budgets=False))
        await host.open([])
        await host.launch(spec("shop", "a"))
        assert covered(ground) == set()
        await host.close()

    runner.run(asyncio.wait_for(story(), PATIENCE_S))

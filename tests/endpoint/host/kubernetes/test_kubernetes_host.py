"""The host of a cluster, at a fake one whose containers are processes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.fake_cluster.hosts import SETTINGS, ClusterGround
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_endpoint.host import HostError, LaunchSpec, Phase, Resources, Slot
from torpor_endpoint.host.kubernetes import preflight
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost

SLOT = Slot("shop", "AllTraffic", 0)
KEPT = [("shop", "AllTraffic")]
Story = Callable[[ClusterGround], Awaitable[None]]


def spec(folder: Path, memory_mib: int = 1024) -> LaunchSpec:
    environment = {"SAGEMAKER_MULTI_MODEL": "true", "TORPOR_TRIALS": "false"}
    return LaunchSpec(SLOT, environment, folder / "logs", Resources(1, memory_mib))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def ground(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterGround]:
    """One cluster for all stories: each ends what it started."""
    shared = ClusterGround(tmp_path_factory.mktemp("cluster"))
    runner.run(shared.start())
    yield shared
    runner.run(shared.close())


@pytest.fixture
def run(runner: asyncio.Runner, ground: ClusterGround) -> Iterator[Callable[[Story], None]]:
    yield lambda story: runner.run(asyncio.wait_for(_told(story, ground), PATIENCE_S))
    assert ground.cluster.objects.by_name == {}


async def _told(story: Story, ground: ClusterGround) -> None:
    await story(ground)


async def opened(ground: ClusterGround, kept: Any = (), **how: Any) -> KubernetesHost:
    host = ground.host(**how)
    await host.open(kept)
    return host


async def pinged(address: object) -> int:
    assert isinstance(address, GuardedAddress)
    upstream = Upstream(address)

    async def answered() -> bool:
        try:
            return (await upstream.send("GET", "/ping", (), [], 2.0)).status == 200
        except UpstreamError:
            return False

    await reached(answered, 60.0, 0.01)
    upstream.close()
    return 200


def test_an_instance_answers_who_knows_its_secret_and_nobody_else(run: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(ground: ClusterGround) -> None:
        host = await opened(ground)
        await host.launch(spec(tmp_path))
        placed = await host.placed(SLOT)
        assert await pinged(placed.address) == 200
        assert isinstance(placed.address, GuardedAddress)
        for stranger in (replace(placed.address, secret=b"x" * 32), (placed.address.host, placed.address.port)):
            with pytest.raises(UpstreamError):
                await Upstream(stranger).send("GET", "/ping", (), [], 2.0)
        await host.close()

    run(story)


def test_one_that_fits_nowhere_waits_with_the_reason(run: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(ground: ClusterGround) -> None:
        host = await opened(ground)
        assert (await host.launch(spec(tmp_path, 1024**2))).phase is Phase.PENDING
        await reached(lambda: "Insufficient memory" in host.list()[0].reason)
        assert [(one.phase, one.address) for one in host.list()] == [(Phase.PENDING, None)]
        await host.close()

    run(story)


def test_an_image_that_is_not_there_ends_the_wait(run: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(ground: ClusterGround) -> None:
        host = await opened(ground, settings=replace(SETTINGS, image="absent/image:1"))
        await host.launch(spec(tmp_path))
        ended = await host.placed(SLOT)
        assert (ended.phase, ended.reason) == (Phase.EXITED, "ImagePullBackOff: no such image")
        await host.close()

    run(story)


def test_two_processes_that_launch_at_once_have_one_instance(run: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(ground: ClusterGround) -> None:
        hosts = [await opened(ground, KEPT) for _ in range(2)]
        await asyncio.gather(*(host.launch(spec(tmp_path / str(number))) for number, host in enumerate(hosts)))
        first, second = await asyncio.gather(*(host.placed(SLOT) for host in hosts))
        assert (first.incarnation, first.address) == (second.incarnation, second.address)
        assert len(ground.cluster.objects.all("pods")) == 1
        await hosts[0].close()
        assert (await hosts[1].exited(SLOT)).phase is Phase.EXITED
        await hosts[1].close()

    run(story)


def test_what_runs_is_adopted_with_its_output_and_what_is_not_served_ends(
    run: Callable[[Story], None], tmp_path: Path
) -> None:
    async def story(ground: ClusterGround) -> None:
        before = await opened(ground, keep=True)
        await before.launch(spec(tmp_path))
        first = await before.placed(SLOT)
        await before.close()
        after = await opened(ground, KEPT, keep=True)
        (adopted,) = after.list()
        assert (adopted.incarnation, adopted.address) == (first.incarnation, first.address)
        assert adopted.since_s is not None
        again = await after.launch(spec(tmp_path))
        assert (again.phase, again.log) == (Phase.RUNNING, first.log)
        await after.close()
        other = await opened(ground, [("other", "AllTraffic")])
        assert other.list() == ()
        await reached(lambda: ground.cluster.objects.by_name == {})
        await other.close()

    run(story)


def test_two_torpors_in_one_namespace_leave_each_other_alone(run: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(ground: ClusterGround) -> None:
        mine = await opened(ground)
        await mine.launch(spec(tmp_path))
        other = await opened(ground, secret=b"o" * 32)
        assert other.list() == ()
        await other.launch(spec(tmp_path / "other"))
        assert len(ground.cluster.objects.all("deployments")) == 2
        await other.close()
        assert (await mine.placed(SLOT)).phase is Phase.RUNNING
        await mine.close()

    run(story)


def test_a_deployment_that_somebody_deletes_ends_its_instance(run: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(ground: ClusterGround) -> None:
        host = await opened(ground)
        await host.launch(spec(tmp_path))
        placed = await host.placed(SLOT)
        ended = asyncio.ensure_future(host.exited(SLOT))
        ground.cluster.objects.remove("deployments", ground.cluster.objects.all("deployments")[0]["metadata"]["name"])
        assert ((await ended).incarnation, (await ended).reason) == (placed.incarnation, "its Deployment was deleted")
        await host.close()

    run(story)


@pytest.mark.parametrize(
    ("verb", "resource"), [("create", "deployments"), ("get", "pods/log"), ("create", "secrets"), ("delete", "pods")]
)
def test_a_right_that_lacks_is_named_with_the_rule_to_add(
    run: Callable[[Story], None], verb: str, resource: str
) -> None:
    async def story(ground: ClusterGround) -> None:
        ground.cluster.denied = {(verb, resource)}
        client = ground.client()
        refusal = rf"does not let Torpor {verb} {resource} in the namespace models.*resources: \["
        try:
            with pytest.raises(HostError, match=refusal):
                await preflight.check(client, SETTINGS, "0")
        finally:
            ground.cluster.denied = set()
            await client.close()

    run(story)


def test_a_wrong_namespace_token_or_owner_is_one_line(run: Callable[[Story], None]) -> None:
    async def story(ground: ClusterGround) -> None:
        owned = replace(SETTINGS, owner="ConfigMap/torpor")
        for client, settings, line in (
            (ground.client(namespace="other"), SETTINGS, "the cluster has no namespace other: create it"),
            (ground.client(token="wrong"), SETTINGS, "does not accept the credentials of a test"),
            (ground.client(), owned, "the owner ConfigMap/torpor is not in the namespace models"),
        ):
            with pytest.raises(HostError, match=line):
                await preflight.check(client, settings, "0")
            await client.close()

    run(story)

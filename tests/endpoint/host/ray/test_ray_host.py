"""The host of a Ray cluster, at a driver that a test has answer, or not."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.peer_authorities import TestedPeers
from tests.endpoint.helpers.virtual_time import run
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.peers.credential import PeerCredential
from torpor_endpoint.host import HostError, LaunchSpec, Phase, Slot
from torpor_endpoint.host.ray.driver_messages import GONE, LEAVING, PENDING, RUNNING, News, Order, actor_name
from torpor_endpoint.host.ray.driver_process import DriverProcess
from torpor_endpoint.host.ray.ray_host import RayHost
from torpor_endpoint.peers.deployment_peers import DeploymentPeers

SLOT = Slot("shop", "v", 0)
NAME = actor_name(SLOT)


class FakeDriver(DriverProcess):
    """It has the actors of a cluster. `silent`: it takes a command and does not answer; `away`: it takes none."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.actors: dict[str, Order] = {}
        self.asked: list[str] = []
        self.silent = self.away = False

    async def open(self) -> None:
        self.about = {"nodes": []}

    async def ask(self, do: str, within_s: float, **command: Any) -> None:
        await asyncio.sleep(0.01)
        if self.away:
            await asyncio.sleep(within_s)
            raise HostError(f"Ray did not {do} it within {within_s:g} s")
        self.asked.append(do)
        if do == "launch":
            self.actors.setdefault(command["order"]["slot"], command["order"])
        if self.silent:
            await asyncio.sleep(3600.0)
        if do == "launch":
            self._news(News(slot=NAME, state=PENDING, reason="it asks Ray for 1 CPU"))
        if do == "terminate" and command["slot"] in self.actors:
            del self.actors[command["slot"]]
            self._news(News(slot=NAME, state=GONE, reason="it was terminated"))
        if do == "watch":
            for name in self.actors:
                self.tell(name)

    def tell(self, name: str) -> None:
        """Tell that the actor's instance runs."""
        order = self.actors[name]
        report = {"incarnation": f"{order['launch']}-0", "host": "127.0.0.1", "port": 1, "since_s": 1.0}
        report |= {"container": "", "instance": "", "configuration": order["configuration"]}
        self._news(News(slot=name, state=RUNNING, reason="", report=report, output=""))

    def tell_leaving(self, name: str, leaves_at_s: float | None) -> None:
        """Tell that the actor's node drains, or no longer does."""
        self._news(News(slot=name, state=LEAVING, reason="", leaves_at_s=leaves_at_s))

    async def close(self) -> None:
        pass


class Cluster:
    """A host, and its driver."""

    def __init__(self, folder: Path, *, keep: bool = False, peers: DeploymentPeers | None = None) -> None:
        self.host = RayHost("auto", b"x" * 32, folder, keep=keep, peers=peers, driver=self._driver)

    def _driver(self, *given: Any) -> FakeDriver:
        self.driver = FakeDriver(*given)
        return self.driver

    async def launched(self, configuration: str) -> str:
        """The incarnation that a launch gets."""
        await self.host.launch(LaunchSpec(SLOT, configuration=configuration))
        self.driver.tell(NAME)
        return (await self.host.placed(SLOT)).incarnation

    async def cut_short(self) -> None:
        """Cancel a launch whose order the driver has, and that nobody has heard of."""
        self.driver.silent = True
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(self.host.launch(LaunchSpec(SLOT, {"TOKEN": "void"})), 5.0)
        self.driver.silent = False


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Callable[[Cluster], Coroutine[Any, Any, None]]], None]:
    return lambda story: run(story(Cluster(tmp_path)))


Play = Callable[[Callable[[Cluster], Coroutine[Any, Any, None]]], None]


def test_a_launch_that_is_cancelled_before_any_news_of_it_is_ended(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.cut_short()
        assert NAME in cluster.driver.actors
        await cluster.host.terminate(SLOT, 0.0)
        assert (cluster.driver.actors, cluster.host.list()) == ({}, ())

    play(story)


def test_each_launch_has_a_certificate_of_its_own_and_is_known_by_its_name(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, peers=TestedPeers().peers)
        incarnation = await cluster.launched("")
        address = (await cluster.host.placed(SLOT)).placed_at
        given = PeerCredential.read(cluster.driver.actors[NAME]["environment"]["TORPOR_PEER_TLS"])
        assert isinstance(address, GuardedAddress)
        assert address.name == given.name
        assert given.name.startswith(f"{incarnation.rpartition('-')[0]}.instance.")

    run(story())


def test_a_launch_after_one_that_could_not_be_ended_has_its_own_order(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.cut_short()
        cluster.driver.away = True
        with pytest.raises(HostError):
            await cluster.host.terminate(SLOT, 0.0)
        cluster.driver.away = False
        cluster.driver.tell(NAME)
        assert cluster.host.health(SLOT) is None
        await cluster.host.launch(LaunchSpec(SLOT, {"TOKEN": "good"}))
        assert cluster.driver.actors[NAME]["environment"] == {"TOKEN": "good"}

    play(story)


def test_launches_at_once_give_one_order(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        launched = await asyncio.gather(*(cluster.host.launch(LaunchSpec(SLOT)) for _ in range(5)))
        assert (len(set(launched)), cluster.driver.asked) == (1, ["launch"])

    play(story)


def test_an_instance_of_another_configuration_ends_before_the_launch(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        before = await cluster.launched("before")
        assert await cluster.launched("before") == before
        assert await cluster.launched("after") != before
        assert cluster.driver.asked == ["launch", "terminate", "launch"]

    play(story)


def test_the_next_process_learns_what_each_instance_was_launched_for(play: Play, tmp_path: Path) -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.launched("of today")
        after = Cluster(tmp_path)
        after.driver.actors = cluster.driver.actors
        await after.host.open([("shop", "v")])
        (adopted,) = after.host.list()
        assert (adopted.phase, adopted.configuration, adopted.since_s) == (Phase.RUNNING, "of today", 1.0)

    play(story)


def test_a_host_that_keeps_its_instances_leaves_none_whose_launch_was_cut_short(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, keep=True)
        await cluster.cut_short()
        await cluster.host.close()
        assert cluster.driver.actors == {}

    run(story())


def test_an_instance_whose_node_drains_is_listed_so_until_it_is_another_one(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.launched("one")
        told: list[float | None] = []
        for leaves_at_s in (9.0, 0.0, None, 9.0):
            cluster.driver.tell_leaving(NAME, leaves_at_s)
            cluster.driver.tell(NAME)  # its output goes on
            told += [one.leaves_at_s for one in cluster.host.list()]
        assert told == [9.0, 0.0, None, 9.0]
        await cluster.host.terminate(SLOT, 0.0)
        await cluster.launched("one")
        assert [one.leaves_at_s for one in cluster.host.list()] == [None]

    run(story())

"""The parent of instances is killed, and starts fail, at any state: the next caller gets a right answer."""

import asyncio
import os
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import SLEEPER, constant, number_of, sleeper, traffic
from tests.endpoint.helpers.live_endpoint import MEETING_PLACE, LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.local_hosts import local_host, warm_parent
from tests.endpoint.helpers.model_artifacts import put, script
from tests.helpers.processes import children, gone
from tests.helpers.waiting import PATIENCE_S, soon
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.core.resource_records import Variant as VariantRecord
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.host import Slot
from torpor_endpoint.host.launch import Surroundings, launch_spec
from torpor_endpoint.host.local import LocalHost

MODELS = {"a.tar": 1.0, "b.tar": 2.0}
SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 100}}
SLOW_TO_LOAD = SLEEPER.replace("def model_fn(model_dir):", "def model_fn(model_dir): time.sleep(1.0);")
BROKEN = "raise RuntimeError('this model cannot be served')"
ENDLESS = """
import time
def model_fn(model_dir): return None
def transform_fn(model, body, content_type, accept):
    open(str(body), "w").close()
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, mark: str) -> Iterator[LiveEndpoint]:
    """One whose zygote may be killed."""
    with LiveEndpoint(tmp_path_factory.mktemp("faults")) as live:
        put(live.folder("shop"), {f"models/{name}": constant(number) for name, number in MODELS.items()})
        yield live


@pytest.fixture
def shop(own: LiveEndpoint) -> Iterator[tuple[LiveEndpoint, str]]:
    """The endpoint, and the name of the endpoint that a test creates there."""
    name = f"shop-{uuid.uuid4().hex[:8]}"
    yield own, name
    own.sagemaker.delete_endpoint(EndpointName=name)


def kill_zygotes(live: LiveEndpoint) -> None:
    """Kill what runs of them: one that has little may still be there, and one that has all may come to take over."""
    killed = [pid for worker in live.worker_pids() for pid in children(worker)]
    assert killed
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    assert all(map(gone, killed))


def sleepy(bucket: str = "shop") -> Variant:
    return Variant(many(f"{bucket}/models", {"TORPOR_IDLE_SECONDS": "1"}), members=SERVERLESS)


def answers(live: LiveEndpoint, name: str) -> list[float]:
    return [number_of(live.invoke(name, b"1", TargetModel=model)) for model in MODELS]


def test_the_zygote_is_killed_while_all_sleep(shop: tuple[LiveEndpoint, str]) -> None:
    live, name = shop
    live.deploy(name, sleepy())
    assert endpoint_pages.asleep(live, name)
    kill_zygotes(live)
    assert answers(live, name) == list(MODELS.values())
    assert endpoint_pages.launches(live, name) == 2


def test_the_zygote_is_killed_while_an_endpoint_is_created(shop: tuple[LiveEndpoint, str]) -> None:
    live, name = shop
    live.create(name, Variant(many("shop/models")))
    for _ in range(2):
        assert soon(lambda: any(map(children, live.worker_pids())))
        kill_zygotes(live)
    assert live.settled(name)["EndpointStatus"] == "InService"
    assert answers(live, name) == list(MODELS.values())


@pytest.mark.thorough
def test_the_zygote_is_killed_under_load(shop: tuple[LiveEndpoint, str]) -> None:
    live, name = shop
    live.deploy(name, Variant(many("shop/models"), members={"InstanceType": "ml.m5.large", "InitialInstanceCount": 2}))
    before = {instance["id"] for instance in endpoint_pages.instances(live, name)}
    with traffic(live, name, MODELS, callers=4) as seen:
        assert soon(lambda: seen.right > 50, 60)
        kill_zygotes(live)
        assert soon(lambda: before.isdisjoint(instance["id"] for instance in endpoint_pages.instances(live, name)))
        assert soon(lambda: len(endpoint_pages.instances(live, name)) == 2, 60)
        reached = seen.right
        assert soon(lambda: seen.right > reached + 50, 60)
    assert seen.wrong == []
    assert set(seen.errors) <= {"ModelError"}
    assert len(seen.errors) <= 4  # one for each caller: what had been sent to an instance that died


def test_an_instance_is_killed_while_it_starts(shop: tuple[LiveEndpoint, str]) -> None:
    live, name = shop
    put(live.folder("slow"), {"model.tar.gz": script(SLOW_TO_LOAD)})
    others = set(endpoint_pages.forked(live))
    live.create(name, Variant(one("slow/model.tar.gz")))
    assert soon(lambda: endpoint_pages.launches(live, name) == 1, 60)
    os.kill(min(set(endpoint_pages.forked(live)) - others), signal.SIGKILL)
    assert live.settled(name)["EndpointStatus"] == "InService"
    assert float(live.invoke(name, b"0")["Body"].strip(b"[] \n")) == 0.0
    assert endpoint_pages.launches(live, name) == 2


def test_an_instance_that_can_not_start_again_is_tried_until_it_can(shop: tuple[LiveEndpoint, str]) -> None:
    live, name = shop
    put(live.folder("broken"), {"model.tar.gz": sleeper()})
    others = set(endpoint_pages.forked(live))
    live.deploy(name, Variant(one("broken/model.tar.gz")))
    live.invoke(name, b"0")
    put(live.folder("broken"), {"model.tar.gz": script(BROKEN)})
    os.kill(min(set(endpoint_pages.forked(live)) - others), signal.SIGKILL)
    assert soon(lambda: endpoint_pages.launches(live, name) == 3, 60)
    assert live.sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"] == "InService"
    with pytest.raises(ClientError, match="No instance of production variant"):  # at once, and with the reason
        live.invoke(name, b"0")
    put(live.folder("broken"), {"model.tar.gz": sleeper()})
    assert soon(lambda: served(live, name), 60.0)


def test_a_sleeping_endpoint_sleeps_after_a_kill_until_a_call(shop: tuple[LiveEndpoint, str]) -> None:
    live, name = shop
    live.deploy(name, sleepy())
    assert endpoint_pages.asleep(live, name)
    live.kill()
    live.start()
    assert soon(lambda: answers_pages(live), 60)
    assert (endpoint_pages.present(live, name), endpoint_pages.launches(live, name)) == (0, 1)
    assert answers(live, name) == list(MODELS.values())
    assert endpoint_pages.launches(live, name) == 2


def served(live: LiveEndpoint, name: str) -> bool:
    with suppress(ClientError):  # not yet
        return float(live.invoke(name, b"0")["Body"].strip(b"[] \n")) == 0.0
    return False


def answers_pages(live: LiveEndpoint) -> bool:
    with suppress(OSError):  # nobody listens yet
        return bool(endpoint_pages.page(live, "endpoints"))
    return False


def test_a_drain_that_never_ends_is_ended_after_its_grace_and_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory, mark: str
) -> None:
    """A real instance and a real pool, with less patience than an endpoint has. The path of a socket has 107 letters at
    most, so the folder is not named after the test: no instance would ever start."""
    tmp_path = tmp_path_factory.mktemp("drain")
    put(tmp_path / "s3" / "slow", {"model.tar.gz": script(ENDLESS)})
    inside = tmp_path / "inside"
    os.mkfifo(inside)

    async def story() -> None:
        parent = warm_parent(tmp_path / "sockets")
        host = local_host(tmp_path / "sockets", tmp_path / "disks", parent)
        lives, clock = list[InstanceLife](), asyncio.get_running_loop().time
        pool = InstancePool("slow", variant(), factory(tmp_path, host, lives), SlotNumbers())
        pool.scale(1, "wanted")
        await pool.until(lambda: bool(pool.ready))
        (incarnation,) = pool.ready
        incarnation.took()
        headers = [(b"content-type", b"text/csv")]
        body = [str(inside).encode()]
        call = asyncio.create_task(incarnation.containers[0].upstream.send("POST", "/invocations", headers, body, 90.0))
        call.add_done_callback(lambda _: pool.released(incarnation))
        await asyncio.to_thread(lambda: inside.open().close())  # returns when the script is at work
        began_s = clock()
        await pool.close("its endpoint is deleted")
        assert clock() - began_s >= 1.0
        with pytest.raises(UpstreamError):
            await call
        assert (host.list(), lives[-1].why_stopped) == ((), "its endpoint is deleted")
        await host.close()
        await parent.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def variant() -> VariantRecord:
    container = Container("torpor", "s3://slow/model.tar.gz", environment=MEETING_PLACE)
    return VariantRecord("v", "m", (container,), instance_type="ml.m5.large")


def factory(folder: Path, host: LocalHost, lives: list[InstanceLife]) -> InstanceFactory:
    around = Surroundings("http://127.0.0.1:9", "us-east-1", folder / "logs", "", s3_folder=folder / "s3")

    def spec(variant: VariantRecord, slot: Slot) -> Any:
        return launch_spec(variant, slot, around)

    return InstanceFactory(host, spec, time.time, lives.append, timing=InstanceTiming(grace_s=1.0))

"""A killed endpoint returns as it was, and leaves no process behind."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import Traffic, constant, number_of, sleeper, traffic
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.processes import children, gone, marked, serving, state
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import soon, until
from torpor_account.storage.data_dir import DataDir

MODELS = {"a.tar": 1.0, "b.tar": 2.0}
SLOW = "slow.tar.gz"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, mark: str) -> Iterator[LiveEndpoint]:
    """One that every test may bring down, with one endpoint in service."""
    folder = tmp_path_factory.mktemp("restarts")
    with LiveEndpoint(folder) as live:
        models = {SLOW: sleeper(), **{name: constant(number) for name, number in MODELS.items()}}
        put(live.folder("shop"), {f"models/{name}": body for name, body in models.items()})
        live.deploy("shop", Variant(many("shop/models")))
        yield live
    assert not DataDir(folder).sockets.exists()


@pytest.fixture
def shop(own: LiveEndpoint) -> LiveEndpoint:
    """The endpoint runs, also after a test that ended it."""
    if not state(own.pid):
        own.start()
    return own


def answers(live: LiveEndpoint, within_s: float = 20.0) -> list[float]:
    """The answers of the models, once the endpoint takes requests."""

    def said() -> list[float]:
        with suppress(ClientError, HTTPClientError):  # nobody listens yet, or nobody is ready
            return [number_of(live.invoke("shop", b"1", TargetModel=model)) for model in MODELS]
        return []

    return until(said, within_s, 0.05)


def stop(live: LiveEndpoint) -> None:
    assert live.stop() == 0
    live.start()


def kill_both(live: LiveEndpoint) -> None:
    live.kill()
    live.start()


def kill_arbiter(live: LiveEndpoint) -> None:
    workers = live.worker_pids()
    os.kill(live.pid, signal.SIGKILL)
    assert [pid for pid in workers if not gone(pid, 60)] == []
    live.kill()
    live.start()


def kill_worker(live: LiveEndpoint) -> None:
    (worker,) = live.worker_pids()
    os.kill(worker, signal.SIGKILL)
    assert gone(worker)


@pytest.mark.parametrize("restart", [*thorough(stop, kill_arbiter), kill_both, kill_worker])
def test_a_restart_brings_everything_back(
    shop: LiveEndpoint, mark: str, restart: Callable[[LiveEndpoint], None]
) -> None:
    answers(shop)
    before = marked(mark)
    found = endpoint_pages.forked(shop)
    assert found
    assert {*found} <= {*before}
    restart(shop)
    assert answers(shop) == list(MODELS.values())
    assert shop.sagemaker.describe_endpoint(EndpointName="shop")["EndpointStatus"] == "InService"
    assert shop.sagemaker.describe_endpoint_config(EndpointConfigName="shop")["ProductionVariants"]
    assert shop.sagemaker.describe_model(ModelName="shop-AllTraffic")["PrimaryContainer"]
    listed = shop.client("s3").list_objects_v2(Bucket="shop")["Contents"]
    assert {entry["Key"] for entry in listed} == {f"models/{name}" for name in (SLOW, *MODELS)}
    old = [pid for pid in before if pid != shop.pid]
    assert [pid for pid in old if not gone(pid)] == []


def test_a_start_removes_the_disks_without_an_instance(shop: LiveEndpoint) -> None:
    answers(shop)
    shop.kill()
    disks = DataDir(shop.data_dir).instances
    for left in ("shop/renamed/0", "deleted/AllTraffic/0"):
        (disks / left / "models").mkdir(parents=True)
    shop.start()
    assert answers(shop) == list(MODELS.values())
    assert [str(path.relative_to(disks)) for path in disks.glob("*/*")] == ["shop/AllTraffic"]


def test_an_instance_killed_under_load_costs_its_own_requests_at_most(shop: LiveEndpoint, mark: str) -> None:
    with traffic(shop, "shop", MODELS, callers=8) as seen:
        for _ in range(2):
            kill_the_instance(shop, seen)
    assert seen.wrong == []
    assert set(seen.errors) <= {"ModelError"}
    assert len(seen.errors) <= 16
    assert seen.slowest_s < 60.0


def kill_the_instance(live: LiveEndpoint, seen: Traffic) -> None:
    """Once it serves; and wait until another one does."""
    assert soon(lambda: seen.right > 0 and len(endpoint_pages.instances(live, "shop")) == 1)
    before = endpoint_pages.instance(live, "shop")["id"]
    os.kill(instance_pid(live), signal.SIGKILL)
    assert soon(lambda: replaced(live, before), 60)
    reached = seen.right
    assert soon(lambda: seen.right > reached + 50, 60)


def instance_pid(live: LiveEndpoint) -> int:
    """The only instance: a child of the zygote, which is a child of the worker."""
    (pid,) = [pid for worker in live.worker_pids() for parent in children(worker) for pid in serving(parent)]
    return pid


def replaced(live: LiveEndpoint, before: str) -> bool:
    now = endpoint_pages.instances(live, "shop")
    return bool(now) and now[0]["id"] != before


def test_a_stop_lets_requests_in_flight_end_and_then_leaves_nothing(shop: LiveEndpoint, mark: str) -> None:
    answers(shop)
    shop.invoke("shop", b"0", TargetModel=SLOW)
    seen: list[float] = []
    caller = threading.Thread(
        target=lambda: seen.append(float(shop.invoke("shop", b"1.5", TargetModel=SLOW)["Body"].strip(b"[] \n")))
    )
    caller.start()
    assert soon(lambda: endpoint_pages.instance(shop, "shop")["in_flight"] == 1)
    assert shop.stop() == 0
    caller.join(60.0)
    assert seen == [1.5]
    assert soon(lambda: marked(mark) == [])
    assert not DataDir(shop.data_dir).sockets.exists()

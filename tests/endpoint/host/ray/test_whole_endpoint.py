"""A whole endpoint whose instances are on a Ray cluster: from its creation over the loss of a node to its deletion.

It takes a minute, and Ray: `make test-ray` runs it, and prints how long each step took.
"""

import secrets
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.helpers.ray_cluster import HAS_RAY, NO_RAY, RayCluster
from tests.helpers.processes import gone, has_ended, marked
from tests.helpers.waiting import soon, until
from torpor_container.processes.process_tree import parent

pytestmark = pytest.mark.skipif(not HAS_RAY, reason=NO_RAY)

COOKIE = f"of-the-ray-story-{secrets.token_hex(8)}"
MODELS = {f"m{number}.tar": float(number) for number in range(30)}
WARM = 200


class Stopwatch:
    """Prints what took how long."""

    def __init__(self) -> None:
        self._began_s = time.perf_counter()

    def says(self, what: str) -> None:
        print(f"{what}: {time.perf_counter() - self._began_s:.2f} s")
        self._began_s = time.perf_counter()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    cluster = RayCluster()
    yield cluster
    cluster.close()


def instances() -> list[int]:
    """The first process of each instance."""
    carrying = [pid for pid in marked(COOKIE) if not has_ended(pid)]
    return [pid for pid in carrying if parent(pid) not in carrying]


def invoked(live: LiveEndpoint, number: int) -> float:
    """Invoke a model, and return the milliseconds that it took."""
    began_s = time.perf_counter()
    answer = live.invoke("shop", b"1", TargetModel=f"m{number}.tar")
    assert number_of(answer) == number
    return (time.perf_counter() - began_s) * 1000


def latencies(live: LiveEndpoint, where: str) -> None:
    """Print how long cold and warm invocations take."""
    cold = statistics.median([invoked(live, number) for number in range(1, len(MODELS))])
    warm = statistics.median([invoked(live, 1) for _ in range(WARM)])
    print(f"{where}: p50 cold {cold:.1f} ms, warm {warm:.2f} ms")


def resized(live: LiveEndpoint, count: int) -> None:
    weights = [{"VariantName": "AllTraffic", "DesiredInstanceCount": count}]
    live.sagemaker.update_endpoint_weights_and_capacities(EndpointName="shop", DesiredWeightsAndCapacities=weights)
    assert live.settled("shop", 90.0)["EndpointStatus"] == "InService"


def said(live: LiveEndpoint) -> str:
    """The newest output of the endpoint's instances in CloudWatch Logs."""
    logs, group = live.client("logs"), "/aws/sagemaker/Endpoints/shop"
    streams = logs.describe_log_streams(logGroupName=group)["logStreams"]
    events = [
        event["message"]
        for stream in streams
        for event in logs.get_log_events(logGroupName=group, logStreamName=stream["logStreamName"])["events"]
    ]
    return "\n".join(events)


def test_an_endpoint_on_ray_from_its_creation_over_the_loss_of_a_node_to_its_deletion(
    cluster: RayCluster, tmp_path: Path
) -> None:
    options, watch = ("--instances-on", "ray"), Stopwatch()
    with LiveEndpoint(tmp_path / "live", *options, environment=cluster.environment) as live:
        put(live.folder("shop"), {f"models/{name}": constant(number) for name, number in MODELS.items()})
        members = {"InstanceType": "ml.t2.medium"}
        watch.says("the endpoint's start, with its driver")
        live.deploy("shop", Variant(many("shop/models", {"COOKIE": COOKIE}), members=members))
        watch.says("CreateEndpoint until InService")
        latencies(live, "Ray")
        watch.says("these invocations")
        resized(live, 2)
        watch.says("a second instance")
        nodes = {cluster.node_of(pid) for pid in instances()}
        assert nodes == {"a", "b"}
        resized(live, 1)
        assert soon(lambda: len(instances()) == 1, 60.0)
        (pid,) = instances()
        watch.says("back to one")
        cluster.kill(cluster.node_of(pid))
        assert gone(pid, 60)
        watch.says("from a node's kill to the end of its instance")
        until(lambda: _serves(live), 120.0, 0.05)
        watch.says("from there to the next answer")
        assert until(lambda: "Starting gunicorn" in said(live), look_s=0.2)

        live.sagemaker.delete_endpoint(EndpointName="shop")
        until(lambda: instances() == [], 60.0)
        watch.says("DeleteEndpoint until no process is left")
    assert marked(COOKIE) == []


def _serves(live: LiveEndpoint) -> bool:
    with suppress(ClientError):
        return invoked(live, 5) > 0
    return False

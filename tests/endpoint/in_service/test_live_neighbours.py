"""A second instance comes to an endpoint whose models are in an S3 elsewhere: it takes them from the first one."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.container.helpers.fake_s3 import FakeObject, FakeS3
from tests.endpoint.helpers.constant_models import constant_gz, number_of
from tests.endpoint.helpers.endpoint_pages import decisions, instances, page
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import script
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import until
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.ready_slots import PlacedInstance

SHARING = {"TORPOR_NEIGHBOURS_MIB": "8"}
AWS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
ECHO = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    return body, content_type
"""
"""The container before the models, of a pipeline."""
COUNTER = "torpor_artifacts_from_neighbours_total"


@contextmanager
def s3_elsewhere() -> Iterator[FakeS3]:
    """Served by a thread of its own."""
    s3, loop = FakeS3(), asyncio.new_event_loop()
    loop.run_until_complete(s3.__aenter__())
    with ThreadPoolExecutor(1) as thread:
        serving = thread.submit(loop.run_forever)
        yield s3
        loop.call_soon_threadsafe(loop.stop)
        serving.result()
    loop.run_until_complete(s3.__aexit__())
    loop.close()


def moving(count: int) -> list[str]:
    """Models that go to the second of two instances."""
    ready, both = Placement[PlacedInstance](), [PlacedInstance(), PlacedInstance()]
    for number, each in enumerate(both):
        each.in_flight = 0
        ready.offer(number, each)
    names = [f"m{number}.tar.gz" for number in range(40)]
    return [name for name in names if ready.pick(name) is both[1]][:count]


@pytest.mark.parametrize("piped", [False, *thorough(True)])
def test_an_instance_that_comes_takes_the_models_from_the_one_that_has_them(tmp_path: Path, piped: bool) -> None:
    models = moving(3)
    with s3_elsewhere() as s3, LiveEndpoint(tmp_path, "--s3-endpoint", s3.url, environment=AWS) as live:
        s3.objects |= {f"/b/m/{name}": FakeObject(constant_gz(number)) for number, name in enumerate(models)}
        s3.objects["/b/echo.tar.gz"] = FakeObject(script(ECHO))
        keeps = many("b/m", SHARING)
        live.deploy("shop", Variant((one("b/echo.tar.gz"), keeps) if piped else keeps))

        def call_all() -> None:
            for number, name in enumerate(models):
                assert number_of(live.invoke("shop", b"1", TargetModel=name)) == number

        def fetched(name: str) -> list[str]:
            """Why each instance that has the artifact on disk says it came."""
            told = decisions(live, "shop", name)
            return [each["reason"] for each in told if each["action"] == "downloaded"]

        call_all()
        weights = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 2}]
        live.sagemaker.update_endpoint_weights_and_capacities(EndpointName="shop", DesiredWeightsAndCapacities=weights)
        live.settled("shop")
        until(lambda: len(instances(live, "shop")) == 2)
        call_all()
        until(lambda: all(len(fetched(name)) == 2 for name in models))
        assert all(any("from another instance" in reason for reason in fetched(name)) for name in models)
        gets = [target for method, target, _ in s3.requests if method == "GET" and "/b/m/" in target]
        assert len(gets) == len(models)
        cold = page(live, "cold-starts", endpoint="shop")["cold_starts"]
        assert {each["cold"]["fetched_from"] for each in cold if each["cold"]} == {"s3"}
        until(lambda: f"{COUNTER}{{" in live.page("metrics").decode())
        (line,) = [each for each in live.page("metrics").decode().splitlines() if each.startswith(f"{COUNTER}{{")]
        assert float(line.split()[1]) == len(models)

"""A second instance comes: calls stay where their model is in memory, until the instance that they go to has it too. So
also where an instance has several containers."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

import pytest

from tests.endpoint.helpers.endpoint_pages import decisions, instances
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.runtime.test_overwrites import posted
from tests.helpers.waiting import until
from torpor_container import wire
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.ready_slots import PlacedInstance

GATED = """
import os
def model_fn(model_dir):
    if os.path.exists("{pipe}"):
        open("{pipe}").read()
    return str(os.getpid())
def transform_fn(model, body, content_type, accept):
    return model, "text/plain"
"""
"""It answers with its process. Its load waits for a writer, once the pipe is there."""
PASSES = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    return body, "text/plain"
"""
"""The container before the models."""


def moves(model: str) -> bool:
    """Whether it goes to the second of two instances."""
    ready, both = Placement[PlacedInstance](), [PlacedInstance(), PlacedInstance()]
    for number, each in enumerate(both):
        each.in_flight = 0
        ready.offer(number, each)
    return ready.pick(model) is both[1]


NAMES = [f"m{number}.tar.gz" for number in range(20)]
MOVING, EVICTED, ROUTED = [name for name in NAMES if moves(name)][:3]


class Grown(NamedTuple):
    """An endpoint of one instance that got a second one. `first` has the process of each model on the first one."""

    live: LiveEndpoint
    name: str
    pipe: Path
    first: dict[str, str]

    def call(self, model: str) -> tuple[str, bool]:
        """The process that answers, and whether it waited for a load."""
        answer = self.live.invoke(self.name, b"x", "text/plain", TargetModel=model)
        timing = answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
        return answer["Body"].decode(), "load;dur" in timing

    def loads(self, model: str) -> list[list[str]]:
        """What each instance has done with the model in memory."""
        seen: dict[str, list[str]] = {}
        for made in decisions(self.live, self.name, model):
            if made["action"] in ("load", "loaded", "evict"):
                seen.setdefault(made["instance"], []).append(made["action"])
        return list(seen.values())


@pytest.fixture(scope="module", params=["alone", "pipeline"])
def grown(
    request: pytest.FixtureRequest, live: LiveEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Grown]:
    name, pipe = f"grows-{request.param}", tmp_path_factory.mktemp("gate") / "pipe"
    put(live.folder(name), {f"many/{each}": script(GATED.format(pipe=pipe)) for each in (MOVING, EVICTED, ROUTED)})
    put(live.folder(name), {"passes.tar.gz": script(PASSES)})
    models = many(f"{name}/many")
    live.deploy(name, Variant(models if request.param == "alone" else (one(f"{name}/passes.tar.gz"), models)))
    grown = Grown(live, name, pipe, {})
    for each in (MOVING, EVICTED, ROUTED):
        grown.first[each] = grown.call(each)[0]
    os.mkfifo(pipe)
    weights = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 2}]
    live.sagemaker.update_endpoint_weights_and_capacities(EndpointName=name, DesiredWeightsAndCapacities=weights)
    live.settled(name)
    until(lambda: len(instances(live, name)) == 2)
    yield grown
    live.sagemaker.delete_endpoint(EndpointName=name)


def test_a_router_that_starts_finds_the_models_where_they_are_in_memory(grown: Grown, tmp_path: Path) -> None:
    router = LiveRouter(grown.live.url, tmp_path / "router.log")
    try:
        url = f"{router.url}/endpoints/{grown.name}/invocations"
        headers = {"Content-Type": "text/plain", wire.TARGET_MODEL: ROUTED}
        for _ in range(3):
            with urlopen(Request(url, b"x", headers), timeout=60) as answer:
                assert answer.read().decode() == grown.first[ROUTED]
                assert "load;dur" not in answer.headers["server-timing"]
    finally:
        router.stop()


def test_calls_stay_where_the_model_is_in_memory_until_its_new_owner_has_it(grown: Grown) -> None:
    for _ in range(3):
        assert grown.call(MOVING) == (grown.first[MOVING], False)
    with grown.pipe.open("w"):  # it opens while the new owner loads the model
        pass
    grown.pipe.unlink()
    until(lambda: grown.call(MOVING)[0] != grown.first[MOVING])
    assert grown.call(MOVING)[1] is False
    until(lambda: grown.loads(MOVING) == [["load", "loaded"]] * 2)
    made = decisions(grown.live, grown.name, MOVING)
    former, newcomer = dict.fromkeys(each["instance"] for each in made)
    told = [(each["instance"], each["reason"]) for each in made if each["action"] == "ordered"]
    why = f"calls come here once it is loaded; until then {former.partition('/')[0]} serves them from its memory"
    assert told == [(newcomer, why)]


def test_a_model_that_its_former_owner_has_not_any_more_is_loaded_by_the_new_one_alone(grown: Grown) -> None:
    posted(grown.live, "unload", {"endpoint": grown.name, "model": EVICTED})
    process, waited = grown.call(EVICTED)
    assert (process != grown.first[EVICTED], waited) == (True, True)
    until(lambda: grown.loads(EVICTED) == [["load", "loaded", "evict"], ["load", "loaded"]])

"""A second instance comes: calls stay where their model is in memory, until the instance that they go to has it too."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.endpoint.helpers.endpoint_pages import decisions, instances
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.runtime.test_overwrites import posted
from tests.helpers.waiting import until
from torpor_endpoint.core.placement import PlacedInstance, Placement

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


def moves(model: str) -> bool:
    """Whether it goes to the second of two instances."""
    ready, both = Placement[PlacedInstance](), [PlacedInstance(), PlacedInstance()]
    for number, one in enumerate(both):
        one.in_flight = 0
        ready.offer(number, one)
    return ready.pick(model) is both[1]


MOVING, EVICTED = [name for name in (f"m{number}.tar.gz" for number in range(20)) if moves(name)][:2]


class Grown(NamedTuple):
    """An endpoint of one instance that got a second one. `first` has the process of each model on the first one."""

    live: LiveEndpoint
    pipe: Path
    first: dict[str, str]

    def call(self, model: str) -> tuple[str, bool]:
        """The process that answers, and whether it waited for a load."""
        answer = self.live.invoke("grows", b"", "text/plain", TargetModel=model)
        timing = answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
        return answer["Body"].decode(), "load;dur" in timing

    def loads(self, model: str) -> list[list[str]]:
        """What each instance has done with the model in memory."""
        seen: dict[str, list[str]] = {}
        for one in decisions(self.live, "grows", model):
            if one["action"] in ("load", "loaded", "evict"):
                seen.setdefault(one["instance"], []).append(one["action"])
        return list(seen.values())


@pytest.fixture(scope="module")
def grown(live: LiveEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grown]:
    pipe = tmp_path_factory.mktemp("gate") / "pipe"
    put(live.folder("grows"), {name: script(GATED.format(pipe=pipe)) for name in (MOVING, EVICTED)})
    live.deploy("grows", Variant(many("grows")))
    grown = Grown(live, pipe, {})
    for name in (MOVING, EVICTED):
        grown.first[name] = grown.call(name)[0]
    os.mkfifo(pipe)
    weights = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 2}]
    live.sagemaker.update_endpoint_weights_and_capacities(EndpointName="grows", DesiredWeightsAndCapacities=weights)
    live.settled("grows")
    until(lambda: len(instances(live, "grows")) == 2)
    yield grown
    live.sagemaker.delete_endpoint(EndpointName="grows")


def test_calls_stay_where_the_model_is_in_memory_until_its_new_owner_has_it(grown: Grown) -> None:
    for _ in range(3):
        assert grown.call(MOVING) == (grown.first[MOVING], False)
    with grown.pipe.open("w"):  # it opens while the new owner loads the model
        pass
    grown.pipe.unlink()
    until(lambda: grown.call(MOVING)[0] != grown.first[MOVING])
    assert grown.call(MOVING)[1] is False
    until(lambda: grown.loads(MOVING) == [["load", "loaded"]] * 2)
    made = decisions(grown.live, "grows", MOVING)
    former, newcomer = dict.fromkeys(one["instance"] for one in made)
    told = [(one["instance"], one["reason"]) for one in made if one["action"] == "ordered"]
    why = f"calls come here once it is loaded; until then {former} serves them from its memory"
    assert told == [(newcomer, why)]


def test_a_model_that_its_former_owner_has_not_any_more_is_loaded_by_the_new_one_alone(grown: Grown) -> None:
    posted(grown.live, "unload", {"endpoint": "grows", "model": EVICTED})
    process, waited = grown.call(EVICTED)
    assert (process != grown.first[EVICTED], waited) == (True, True)
    until(lambda: grown.loads(EVICTED) == [["load", "loaded", "evict"], ["load", "loaded"]])

"""The instance of a hot model is busy: callers wait there while another one loads a copy, and none waits for that."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.endpoint.helpers.endpoint_pages import decisions, instances
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.runtime.test_live_handovers import moves
from tests.helpers.waiting import until
from torpor_endpoint.core.placement import BUSY_MIN

HELD = """
import os, time
def held(gate):
    while os.path.exists(gate):
        time.sleep(0.01)
def model_fn(model_dir):
    held("{loads}")
    return str(os.getpid())
def transform_fn(model, body, content_type, accept):
    held("{predictions}")
    return model, "text/plain"
"""
"""It answers with the process that loaded it. Its load waits while the first file is there, and its predictions while
the other one is."""
HOT = next(name for number in range(20) if not moves(name := f"m{number}.tar.gz"))
"""A model of the first of two instances."""
TWO = {"InstanceType": "ml.m5.large", "InitialInstanceCount": 2}


class Hot(NamedTuple):
    """An endpoint of two instances, of which one has loaded the model, in the process `first`."""

    live: LiveEndpoint
    name: str
    loads: Path
    predictions: Path
    first: str

    def call(self) -> tuple[str, bool]:
        """The process that answers, and whether the call waited for a load."""
        answer = self.live.invoke(self.name, b"x", "text/plain", TargetModel=HOT)
        return answer["Body"].decode(), "load;dur" in answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]

    def in_flight(self) -> list[int]:
        return [one["in_flight"] for one in instances(self.live, self.name)]

    def done(self, action: str) -> list[str]:
        """The instances that have done this with the model in memory, in order."""
        return [one["instance"] for one in decisions(self.live, self.name, HOT) if one["action"] == action]


@pytest.fixture
def hot(live: LiveEndpoint, tmp_path: Path) -> Iterator[Hot]:
    name, loads, predictions = "hot", tmp_path / "loads", tmp_path / "predictions"
    put(live.folder(name), {f"many/{HOT}": script(HELD.format(loads=loads, predictions=predictions))})
    live.deploy(name, Variant(many(f"{name}/many"), members=TWO))
    until(lambda: len(instances(live, name)) == 2)
    first, waited = Hot(live, name, loads, predictions, "").call()
    assert waited
    yield Hot(live, name, loads, predictions, first)
    loads.unlink(missing_ok=True)
    predictions.unlink(missing_ok=True)
    live.sagemaker.delete_endpoint(EndpointName=name)


def test_callers_of_a_busy_instance_wait_there_until_a_second_one_has_the_model_and_then_it_serves_too(
    hot: Hot,
) -> None:
    with ThreadPoolExecutor(2 * BUSY_MIN) as callers:
        hot.loads.touch()
        hot.predictions.touch()
        calls: list[Future[tuple[str, bool]]] = [callers.submit(hot.call) for _ in range(BUSY_MIN + 3)]
        until(lambda: sorted(hot.in_flight()) == [0, BUSY_MIN + 3])
        until(lambda: len(hot.done("load")) == 2)
        hot.predictions.unlink()
        assert {call.result(60) for call in calls} == {(hot.first, False)}
        assert len(hot.done("loaded")) == 1, "the second instance loads still"
        hot.loads.unlink()
        until(lambda: len(hot.done("loaded")) == 2)
        answers: set[tuple[str, bool]] = set()

        def both_serve() -> bool:
            answers.update(callers.map(lambda _: hot.call(), range(2 * BUSY_MIN)))
            return len(answers) == 2

        until(both_serve)
        assert {waited for _, waited in answers} == {False}
        former, second = hot.done("load")
        (why,) = [one["reason"] for one in decisions(hot.live, hot.name, HOT) if one["action"] == "ordered"]
        assert second != former
        assert f"until then {former.partition('/')[0]} serves them from its memory" in why

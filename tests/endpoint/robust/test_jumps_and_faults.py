"""Time jumps and faults, drawn by a seed: the same seed has the same outcomes, and nothing is lost or wrong."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError
from hypothesis import Phase, example, given, note, settings
from hypothesis import strategies as st

from tests.endpoint.helpers.constant_models import constant_gz, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from torpor.testing import FaultSchedule, drawn

MODELS = tuple(f"m{number}.tar.gz" for number in range(3))
JUMPS_S = (100, 700, 1300, 7300)
"""No sum of them is a little less than an idle time: real time in between makes no difference."""
MEMBERS = {
    "InstanceType": "ml.m5.large",
    "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2},
}
ENVIRONMENT = {"TORPOR_IDLE_SECONDS": "1200", "TORPOR_MODEL_IDLE_SECONDS": "300"}
STEPS = 6
ERRORS = {
    "ModelError",  # a load without memory
    "ValidationError",  # an artifact that is damaged, or that S3 does not give
    "ThrottlingException",
    "InternalDependencyException",  # S3 went on failing
}


@dataclass(frozen=True)
class Play:
    """What happens in one run: calls of models and jumps of the clock, with faults among them."""

    schedule: FaultSchedule
    steps: tuple[str | int, ...]

    @classmethod
    def drawn(cls, seed: int) -> "Play":
        dice = random.Random(seed)
        steps = tuple(dice.choice(MODELS) if dice.random() < 0.7 else dice.choice(JUMPS_S) for _ in range(STEPS))
        return cls(drawn(seed, count=4, models=("", *MODELS), within=4), steps)


@dataclass
class Run:
    """One run on an endpoint of its own, and everything that could be seen of it."""

    live: LiveEndpoint
    name: str
    outcomes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    answered: int = 0
    model_errors: int = 0

    def play(self, play: Play) -> "Run":
        self.page("faults", body=str(play.schedule))
        for step in play.steps:
            self.outcomes.append(self.jump(step) if isinstance(step, int) else self.call(step))
        self.outcomes += [
            f"{one['fault']} on {one['on'].partition(' on ')[0]}" for one in self.page("faults")["struck"]
        ]
        return self

    def call(self, model: str) -> str:
        """The answer, which must be right, or AWS's error. Any other exception is a lost request."""
        try:
            answer = number_of(self.live.invoke(self.name, b"1", TargetModel=model))
        except ClientError as error:
            code = error.response["Error"]["Code"]
            self.errors.append(code)
            self.model_errors += code == "ModelError"
            return f"{model}: {code}"
        self.answered += 1
        assert answer == float(MODELS.index(model)), f"{model} answered {answer}"
        return f"{model}: right"

    def jump(self, seconds: int) -> str:
        self.page("clock", advance_s=str(seconds))
        [variant] = self.live.shown(self.name)
        loaded = sorted(model["name"] for one in variant["instances"] for model in one["containers"][0]["models"])
        return f"after {seconds} s: {variant['wanted']} wanted, {variant['leaving']} leaving, {loaded} in memory"

    def page(self, name: str, body: str | None = None, **query: str) -> Any:
        url = f"{self.live.url}/_torpor/{name}?{urlencode(query)}"
        posted = body is not None or bool(query)
        request = Request(url, (body or "").encode() if posted else None, method="POST" if posted else "GET")
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def counted(self, metric: str) -> float:
        end = datetime.fromtimestamp(self.page("clock")["now_s"], UTC) + timedelta(minutes=1)
        points = self.live.cloudwatch.get_metric_statistics(
            Namespace="AWS/SageMaker",
            MetricName=metric,
            Dimensions=[{"Name": "EndpointName", "Value": self.name}, {"Name": "VariantName", "Value": "AllTraffic"}],
            StartTime=end - timedelta(days=1),
            EndTime=end,
            Period=86_400 * 2,
            Statistics=["Sum"],
        )["Datapoints"]
        return float(sum(point["Sum"] for point in points))

    def cold_starts(self) -> list[dict[str, Any]]:
        with urlopen(f"{self.live.url}/_torpor/cold-starts?endpoint={self.name}") as answer:
            found: list[dict[str, Any]] = json.load(answer)["cold_starts"]
        return found


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("plays"), "--travelling-clock", "--faults") as started:
        put(started.folder("models"), {model: constant_gz(float(number)) for number, model in enumerate(MODELS)})
        yield started


def run(live: LiveEndpoint, play: Play, name: str) -> Run:
    live.deploy(name, Variant(many("models/", ENVIRONMENT), members=MEMBERS))
    try:
        return Run(live, name).play(play)
    finally:
        Run(live, name).page("faults", body="")


def deleted(live: LiveEndpoint, name: str) -> None:
    live.sagemaker.delete_endpoint(EndpointName=name)


NUMBERS = iter(range(10**6))


@pytest.mark.thorough
@settings(max_examples=2, derandomize=True, phases=[Phase.explicit, Phase.generate])  # a smaller seed is no simpler
@example(seed=299)
@given(seed=st.integers(0, 10_000))
def test_the_same_seed_has_the_same_outcomes_and_nothing_is_lost(live: LiveEndpoint, seed: int) -> None:
    play = Play.drawn(seed)
    note(f"seed {seed}: {play.steps}\n{play.schedule}")
    first, second = (run(live, play, f"play-{next(NUMBERS)}") for _ in range(2))
    note("\n".join(first.outcomes))
    again = [line.replace(second.name, first.name) for line in second.outcomes]
    assert again == first.outcomes
    for one in (first, second):
        assert set(one.errors) <= ERRORS
        assert one.counted("Invocations") == one.answered + one.model_errors  # others reached no model
        assert one.counted("Invocation5XXErrors") == one.model_errors
        for row in one.cold_starts():
            assert sum(row["steps"].values()) == pytest.approx(row["total_s"], abs=0.01)
        deleted(live, one.name)
    assert "add up to" not in live.output()

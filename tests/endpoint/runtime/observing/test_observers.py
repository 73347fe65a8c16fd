"""Metrics and ledger get many requests at once, and hold the same as if they got each as it ended."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace

from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_account.metrics import metrics
from torpor_account.metrics.metrics import Metric
from torpor_account.metrics.registry import MetricRegistry
from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.ledger import Sums, is_cold, minute_of
from torpor_endpoint.core.ledger_records import InvocationRecord, WarmRequests
from torpor_endpoint.core.model_choice.choosing_model import IN_MEMORY, choose_model
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel
from torpor_endpoint.core.model_choice.served_groups import ServedGroups
from torpor_endpoint.core.model_choice.stated_need import StatedNeed
from torpor_endpoint.core.resource_records import Serverless
from torpor_endpoint.core.sending.trail import Trail
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.observing.ledger_observer import LedgerObserver, record
from torpor_endpoint.runtime.observing.meter import Meters
from torpor_endpoint.runtime.observing.metrics_observer import MetricsObserver
from torpor_endpoint.runtime.observing.observers import TOGETHER, WITHIN_S, Alike, Observers
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Route, Served

ANSWERED = InvokeAnswer(200, [], [])
NOON_S = 1_700_000_000 // 86_400 * 86_400 + 43_200
FAULTS = (
    RuntimeFault(Situation.NO_CAPACITY, variant="v"),
    RuntimeFault(Situation.MODEL_SERVER, original=(0, "no answer"), status=0),
    RuntimeFault(Situation.NOT_READY, detail="", steps={"wake": 3.0}),
    RuntimeFault(Situation.HOLD_FULL, held=1),
)


class Pages:
    """A ledger in memory: sums by minute and model, and whose."""

    def __init__(self) -> None:
        self.sums: dict[tuple[object, ...], Sums] = defaultdict(Sums)
        self.choices: list[MadeChoices] = []

    def invoked(self, invocation: InvocationRecord) -> None:
        self._of(invocation).add(invocation, is_cold(invocation.steps))

    def warmed(self, warm: WarmRequests) -> None:
        self._of(warm).add_warm(warm)

    def chosen(self, made: MadeChoices) -> None:
        self.choices.append(made)

    def instances(self) -> list[str]:
        """Of each request, sorted."""
        return sorted(str(kind[-1]) for kind, sums in self.sums.items() for _ in range(sums.requests))

    def rounded(self) -> dict[tuple[object, ...], dict[str, float]]:
        """Floats add up to about the same in another order."""
        told = {kind: asdict(sums) for kind, sums in self.sums.items()}
        return {kind: {name: round(value, 6) for name, value in sums.items()} for kind, sums in told.items()}

    def _of(self, told: InvocationRecord | WarmRequests) -> Sums:
        return self.sums[minute_of(told.at_s), told.endpoint, told.variant, told.model, told.instance]


class Books:
    """The metrics and the ledger, with counts of their contents."""

    def __init__(self) -> None:
        self.registry = MetricRegistry(lambda: NOON_S)
        self.ledger = Pages()
        self.observers = Observers([LedgerObserver(self.ledger), MetricsObserver(Meters(self.registry))])

    def add(self, request: Passage) -> None:
        self.observers.account(request, ANSWERED)

    def told(self) -> dict[tuple[str, str, int], tuple[float, ...]]:
        """Count, sum and extremes of every minute of every metric, by variant."""
        return {
            (series.key.name, dict(series.key.dimensions)["VariantName"], at_s): (
                tally.count,
                round(tally.sum, 3),
                tally.minimum,
                tally.maximum,
            )
            for series in self.registry.find()
            for at_s, tally in series.buckets(0.0, 2.0 * NOON_S)
        }

    def count(self, metric: Metric) -> float:
        return sum(numbers[0] for (name, _, _), numbers in self.told().items() if name == metric.name)


def routes(host: FakeHost) -> list[Route]:
    """To an instance of a variant, and to a serverless one."""
    fake = PoolOnFakeHost(host)
    live = FleetEndpoint("shop", "arn", {"v": fake.pool})
    sleepy = PoolOnFakeHost(host).pool
    sleepy.variant = replace(sleepy.variant, serverless=Serverless(1024, 20, 5))
    return [Route(live, "v", fake.pool, "/a.tar.gz"), Route(live, "w", sleepy, "b.tar.gz")]


def served(status: int, headers: list[tuple[bytes, bytes]], instances: int = 1) -> Served:
    return Served(UpstreamAnswer(status, headers), "i-1", instances, 7, 0.25)


def ended(
    route: Route | None,
    outcome: Served | RuntimeFault | None,
    at_s: float = NOON_S,
    steps: dict[str, float] | None = None,
) -> Passage:
    request = replace(
        passage("shop", route=route), at_s=at_s, request_bytes=10, steps=dict(steps or {}), outcome=outcome
    )
    request.end(200, 20, 0.5)
    return request


HIT, MISS = (wire.MODEL_CACHE.lower().encode(), b"hit"), (wire.MODEL_CACHE.lower().encode(), b"miss")
REFUSED = (wire.FAULT.lower().encode(), wire.Fault.ARTIFACT_MISSING.value.encode())
MEASURED = (wire.EFFORT.lower().encode(), b"0.000512 0.000003")
HEADERS = st.sampled_from([[], [HIT], [MISS], [REFUSED], [HIT, MEASURED]])
OUTCOMES = st.one_of(
    st.none(),
    st.sampled_from(FAULTS),
    st.builds(
        served,
        st.sampled_from([200, 400, 503]),
        st.sampled_from([[], [HIT], [MISS], [REFUSED], [HIT, MEASURED]]),
        st.integers(0, 3),
    ),
)
TOLD = st.tuples(st.integers(0, 1), OUTCOMES, st.floats(0.0, 180.0), st.sampled_from([{}, {"load": 0.2}]))


@given(told=st.lists(TOLD, max_size=30), groups=st.lists(st.integers(1, 10), min_size=1))
def test_requests_recorded_together_have_the_same_sums_as_one_by_one(
    told: list[tuple[int, Served | RuntimeFault | None, float, dict[str, float]]], groups: list[int]
) -> None:
    async def story() -> None:
        one_by_one, together, each = Books(), Books(), Pages()
        with FakeHost() as host:
            way = routes(host)
            for number, (which, outcome, at_s, steps) in enumerate(told):
                one_by_one.add(ended(way[which], outcome, NOON_S + at_s, steps))
                one_by_one.observers.settle()
                together.add(request := ended(way[which], outcome, NOON_S + at_s, steps))
                if isinstance(outcome, Served):
                    each.invoked(record(request, way[which], outcome.instance, dict(outcome.answer.headers)))
                elif outcome is not None and (outcome.original is not None or outcome.steps):
                    each.invoked(record(request, way[which], "", {}))
                if number % groups[number % len(groups)] == 0:
                    together.observers.settle()
            together.observers.settle()
        assert together.told() == one_by_one.told()
        assert together.ledger.rounded() == one_by_one.ledger.rounded() == each.rounded()
        reached = Counter(
            ("vw"[which], int(NOON_S + at_s + 0.5) // 60 * 60) for which, outcome, at_s, _ in told if _reached(outcome)
        )
        seen = {key[1:]: numbers[0] for key, numbers in together.told().items() if key[0] == "Invocations"}
        assert seen == reached

    run(story())


def test_the_seconds_in_the_containers_of_a_pipeline_are_summed_for_a_group() -> None:
    class Warm(Pages):
        def __init__(self) -> None:
            super().__init__()
            self.told: list[WarmRequests] = []

        def warmed(self, warm: WarmRequests) -> None:
            self.told.append(warm)

    async def story() -> None:
        ledger = Warm()
        observers = Observers([LedgerObserver(ledger)])
        with FakeHost() as host:
            route, other = routes(host)
            other.pool.variant = replace(other.pool.variant, shadow=True)
            for seconds in (0.25, 0.5):
                request = ended(route, served(200, [HIT]))
                request.trail = Trail({"clean": seconds, "houses": 2 * seconds})
                observers.account(request, ANSWERED)
                observers.account(ended(other, served(200, [HIT])), ANSWERED)
            observers.settle()
        pipeline, copies = ledger.told
        assert list(pipeline.container_s.items()) == [("clean", 0.75), ("houses", 1.5)]
        assert (pipeline.shadow, copies.shadow, copies.container_s) == (False, True, {})

    run(story())


def test_a_cold_request_to_a_pipeline_has_the_seconds_in_its_containers() -> None:
    with FakeHost() as host:
        (route, _) = asyncio.run(_routes(host))
        request = ended(route, served(200, []), steps={"load": 0.25})
        request.trail = Trail({"clean": 0.125, "houses": 0.25})
        assert record(request, route, "i-1", {}).container_s == {"clean": 0.125, "houses": 0.25}
        assert record(replace(request, trail=None), route, "i-1", {}).container_s == {}


def test_a_cold_start_counts_with_what_it_waited_and_a_warm_request_does_not() -> None:
    async def story() -> None:
        books = Books()
        with FakeHost() as host:
            route, _ = routes(host)
            for steps in ({"wake": 0.25, "load": 0.125, "predict": 1.0}, {"queue": 0.00001, "predict": 0.25}, {}):
                books.add(ended(route, served(200, [HIT]), steps=steps))
            books.observers.settle()
        (cold,) = [numbers for (name, _, _), numbers in books.told().items() if name == "ColdStartTime"]
        assert cold == (1, 375_000, 375_000, 375_000)

    run(story())


async def _routes(host: FakeHost) -> list[Route]:
    return routes(host)


def _reached(outcome: Served | RuntimeFault | None) -> bool:
    """Whether it was sent to a model, well or not."""
    if isinstance(outcome, Served):
        return REFUSED not in outcome.answer.headers
    return outcome is not None and outcome.original is not None


def test_an_ended_request_is_passed_on_within_the_time_and_count_limits() -> None:
    async def story() -> None:
        books = Books()

        def known() -> int:
            assert len(books.ledger.instances()) == books.count(metrics.INVOCATIONS)
            return len(books.ledger.instances())

        with FakeHost() as host:
            route, _ = routes(host)

            async def ends(wait_s: float = 0.0) -> None:
                books.add(ended(route, served(200, [HIT])))
                books.observers.meanwhile()
                await asyncio.sleep(wait_s)

            await ends(WITHIN_S * 0.9)
            await ends()
            assert known() == 0
            await asyncio.sleep(WITHIN_S * 0.2)
            assert known() == 2
            for _ in range(TOGETHER - 1):
                await ends()
            assert known() == 2
            await ends(WITHIN_S * 0.5)
            assert known() == 2 + TOGETHER
            await ends(WITHIN_S * 0.6)
            assert known() == 2 + TOGETHER  # the time of those before would be over, and its own is not
            await asyncio.sleep(WITHIN_S * 0.5)
            assert known() == 3 + TOGETHER

    run(story())


def test_a_request_that_one_observer_fails_on_is_no_loss_to_other_requests_and_observers() -> None:
    async def story() -> None:
        books = Books()
        odd = (wire.EFFORT.lower().encode(), b"much")
        with FakeHost() as host:
            route, _ = routes(host)
            for headers in ([HIT], [HIT, odd], [HIT]):
                books.add(ended(route, served(200, headers)))
            books.observers.settle()
        assert len(books.ledger.instances()) == 2
        assert books.count(metrics.INVOCATIONS) == 3

    run(story())


def test_a_request_is_counted_by_how_far_it_came() -> None:
    async def story() -> None:
        books = Books()
        no_capacity, broken, not_ready, full = FAULTS
        with FakeHost() as host:
            route, _ = routes(host)
            for outcome in (no_capacity, broken, not_ready, full, served(400, [REFUSED])):
                books.add(ended(route, outcome))
            books.add(ended(None, None))
            books.observers.settle()
        assert books.count(metrics.NO_CAPACITY_INVOCATION_FAILURES) == 1
        assert books.count(metrics.INVOCATIONS) == 1  # the one that broke on its way
        assert books.ledger.instances() == ["", "", "i-1"]  # it, the one that waited, and the refused one

    run(story())


class FailsOnGroups:
    """An observer that fails where requests are alike."""

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        pass

    def ended_alike(self, alike: Alike, requests: Sequence[Passage], served: Sequence[Served]) -> None:
        raise ValueError("a mistake of this observer")


def test_an_observer_that_fails_on_a_group_is_no_loss_to_other_groups_and_observers() -> None:
    async def story() -> None:
        pages = Pages()
        observers = Observers([FailsOnGroups(), LedgerObserver(pages)])
        with FakeHost() as host:
            for route in routes(host):
                observers.account(ended(route, served(200, [HIT])), ANSWERED)
            observers.settle()
        assert len(pages.instances()) == 2

    run(story())


def test_the_choices_of_warm_and_cold_requests_are_told_and_no_others() -> None:
    async def story() -> None:
        books = Books()
        group = ChoiceGroup("digits", (GroupedModel("a.tar.gz", 0.9, ((1, 2.0),)),))
        with FakeHost() as host:
            plain, _ = routes(host)
            plain.pool.groups = ServedGroups()
            chosen = [
                plain._replace(choice=choose_model(group, need, {"a.tar.gz": IN_MEMORY}, 1))
                for need in (StatedNeed(), StatedNeed(latency_ms=5))
            ]
            for route in (plain, *chosen, chosen[1]):
                books.add(ended(route, served(200, [HIT])))
            books.add(ended(chosen[1], served(200, []), NOON_S + 1, {"load": 0.2}))
            books.add(ended(chosen[1], FAULTS[-1]))
            books.observers.settle()
        told = sorted((one.need, one.requests, one.at_s - NOON_S) for one in books.ledger.choices)
        assert told == [("any model", 1, 0), ("latency_ms=5", 1, 1), ("latency_ms=5", 2, 0)]

    run(story())

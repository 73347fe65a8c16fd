"""A variant's MaxConcurrency among several routers."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from torpor_endpoint.core.routing.shares import ShareHolder, fair_shares, grant

DEMANDS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 30), min_size=1)


@given(st.integers(0, 200), DEMANDS)
def test_shares_add_up_to_the_limit_and_meet_every_demand_if_they_can(limit: int, demands: dict[str, int]) -> None:
    shares = fair_shares(limit, demands)
    assert sum(shares.values()) == limit
    if sum(demands.values()) <= limit:
        assert all(shares[name] >= demand for name, demand in demands.items())


@given(st.integers(0, 200), DEMANDS)
def test_nobody_gets_more_than_one_beyond_another_who_lacks(limit: int, demands: dict[str, int]) -> None:
    shares = fair_shares(limit, demands)
    lacking = [shares[name] for name, demand in demands.items() if shares[name] < demand]
    if lacking:
        assert max(shares.values()) <= min(lacking) + 1


def test_what_is_left_over_is_shared_alike_and_the_odd_ones_go_by_name() -> None:
    assert fair_shares(9, {"a": 5, "b": 1}) == {"a": 7, "b": 2}
    assert fair_shares(2, {"b": 0, "a": 0, "c": 0}) == {"a": 1, "b": 1, "c": 0}


def test_a_router_that_was_never_heard_of_holds_nothing() -> None:
    assert ShareHolder() == ShareHolder(granted=0, confirmed=0, demand=0)
    assert ShareHolder().held == 0


def test_a_share_grows_only_by_what_others_have_given_back() -> None:
    """Another holds the share that it was given last, or what it may still use of an earlier one."""
    wants = ShareHolder(demand=10)
    assert grant(10, "a", {"a": wants}) == 10
    assert grant(10, "a", {"a": wants, "b": ShareHolder(granted=4, confirmed=6)}) == 4
    assert grant(10, "a", {"a": wants, "b": ShareHolder(granted=6, confirmed=4)}) == 4
    assert grant(10, "a", {"a": ShareHolder(granted=8, demand=10), "b": ShareHolder(granted=4)}) == 6
    assert grant(10, "a", {"a": wants, "b": ShareHolder(granted=12)}) == 0
    assert grant(10, "a", {"a": ShareHolder(demand=1), "b": ShareHolder(demand=9)}) == 1


@dataclass
class FakeRouter:
    """A router that admits requests by its share, and hears of a new share late."""

    share: int = 0
    on_its_way: list[int] = field(default_factory=list)
    in_flight: int = 0
    refused: int = 0


class Sharing(RuleBasedStateMachine):
    """Routers come, go, admit, and report; answers and reports may be lost."""

    LIMIT = 10

    def __init__(self) -> None:
        super().__init__()
        self.routers = {name: FakeRouter() for name in "abc"}
        self.holders = {name: ShareHolder() for name in "abc"}

    @rule(name=st.sampled_from("abc"))
    def request_comes(self, name: str) -> None:
        router = self.routers[name]
        if router.in_flight < router.share:
            router.in_flight += 1
        else:
            router.refused += 1

    @rule(name=st.sampled_from("abc"))
    def request_ends(self, name: str) -> None:
        self.routers[name].in_flight -= bool(self.routers[name].in_flight)

    @rule(name=st.sampled_from("abc"), lost=st.booleans())
    def router_reports(self, name: str, lost: bool) -> None:
        router = self.routers[name]
        confirmed = max(router.share, router.in_flight, *router.on_its_way, 0)
        holder = ShareHolder(self.holders[name].granted, confirmed, router.in_flight + router.refused)
        self.holders[name] = holder
        granted = grant(self.LIMIT, name, self.holders)
        self.holders[name] = holder._replace(granted=granted)
        if not lost:
            router.on_its_way.append(granted)
            router.refused = 0

    @rule(name=st.sampled_from("abc"))
    def answer_arrives(self, name: str) -> None:
        router = self.routers[name]
        if router.on_its_way:
            router.share = router.on_its_way.pop()
            router.on_its_way.clear()

    @invariant()
    def all_together_admit_no_more_than_the_limit(self) -> None:
        assert sum(router.in_flight for router in self.routers.values()) <= self.LIMIT


TestSharing = Sharing.TestCase

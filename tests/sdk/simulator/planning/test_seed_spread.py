"""The spread of a plan's figures over its seeds."""

import pytest

import torpor
from torpor.cli.commands.studies.plan import spread_of
from torpor.simulator.planning.seed_spread import SeedSpread

SPACE = torpor.PlanSpace(["ml.t2.medium"], instances_max=1, idle_s=[])


def test_the_spread_has_the_least_and_the_most_of_all_seeds() -> None:
    found = torpor.plan("zipf:models=10,rate_hz=2,duration_s=60", slo_s=3.0, quantile=0.5, space=SPACE, seeds=3)
    spread = {one.figure: (one.least, one.most) for one in found.spread}
    p99s = sorted(one.p99_s for one in found.seeds)
    assert len(p99s) == 3
    assert spread["p99_s"] == (p99s[0], p99s[-1])
    assert spread["late"][0] <= found.seeds[0].slo_misses(3.0) <= spread["late"][1]
    assert set(spread) == {"p99_s", "late", "hit_ratio", "usd_per_month"}


def test_a_single_seed_has_no_spread() -> None:
    found = torpor.plan("zipf:models=10,rate_hz=2,duration_s=60", slo_s=3.0, quantile=0.5, space=SPACE, seeds=1)
    assert found.spread == ()


@pytest.mark.parametrize(
    ("spread", "shown"),
    [
        (SeedSpread("p99_s", 0.2, 4.424), "p99 200 ms to 4,424 ms"),
        (SeedSpread("late", 0.0123, 0.0123), "late 1.23%"),
        (SeedSpread("usd_per_month", 33.87, 41.2), "a month $33.87 to $41.20"),
    ],
)
def test_figures_that_all_seeds_share_are_shown_once(spread: SeedSpread, shown: str) -> None:
    assert spread_of(spread) == shown

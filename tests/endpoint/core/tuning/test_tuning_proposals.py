"""What the strategies propose."""

from random import Random
from statistics import NormalDist

import pytest

from torpor_endpoint.core.tuning.parameter_ranges import Choices, NumberRange, ParameterRange
from torpor_endpoint.core.tuning.tuning_proposals import (
    ShareEstimate,
    TrialResult,
    bayesian,
    drawn,
    grid_size,
    on_grid,
)

RANGES = (
    NumberRange("eta", 0.0, 1.0),
    NumberRange("depth", 1, 20, whole=True),
    Choices("kind", ("a", "b", "c")),
)


def loss(given: dict[str, str]) -> float:
    """Least at eta 0.7, depth 5 and kind b."""
    return (
        (float(given["eta"]) - 0.7) ** 2
        + ((int(given["depth"]) - 5) / 20) ** 2
        + (0.0 if given["kind"] == "b" else 0.2)
    )


def test_a_grid_has_each_combination_once() -> None:
    ranges = (Choices("a", ("1", "2")), Choices("b", ("x", "y", "z")))
    jobs = [tuple(on_grid(ranges, at).items()) for at in range(grid_size(ranges))]
    assert len(jobs) == len(set(jobs)) == 6
    assert jobs[:3] == [(("a", "1"), ("b", "x")), (("a", "2"), ("b", "x")), (("a", "1"), ("b", "y"))]


def test_the_same_dice_propose_the_same() -> None:
    results = [TrialResult(drawn(RANGES, Random(at).random), float(at)) for at in range(9)]
    assert bayesian(RANGES, results, Random(1).random) == bayesian(RANGES, results, Random(1).random)
    assert drawn(RANGES, Random(1).random) == drawn(RANGES, Random(1).random)


def test_few_results_are_not_used() -> None:
    results = [TrialResult({"eta": "0.7", "depth": "5", "kind": "b"}, 0.0)] * 4
    assert bayesian(RANGES, results, Random(7).random) == drawn(RANGES, Random(7).random)
    assert bayesian(RANGES, [*results, results[0]], Random(7).random) != drawn(RANGES, Random(7).random)


def test_a_value_is_proposed_that_the_best_quarter_has_and_the_others_have_not() -> None:
    """Of eight results two are good: were it one, or all, another value would be proposed."""
    results = [TrialResult({"kind": kind}, float(at)) for at, kind in enumerate("abaccccc")]
    shuffled = Random(3).sample(results, 8)
    assert bayesian(RANGES[2:], shuffled, Random(1).random) == {"kind": "b"}


def estimate(one: ParameterRange, *values: str) -> ShareEstimate:
    return ShareEstimate(one, [TrialResult({one.name: value}, 0.0) for value in values])


ETA, KIND = RANGES[0], RANGES[2]


@pytest.mark.parametrize(("values", "width"), [(("0.3", "0.8"), 1 / 3), (("0.3", "0.8") * 30, 0.02)])
def test_numbers_are_dense_around_those_of_the_results(values: tuple[str, ...], width: float) -> None:
    """The density is that of kernels which get narrower with more results, beside one of the whole range."""
    near = estimate(ETA, *values)
    kernels = [NormalDist(float(value), width) for value in values]
    for share in (0.0, 0.25, 0.3, 0.79, 1.0):
        wanted = (1.0 + sum(kernel.pdf(share) for kernel in kernels)) / (len(values) + 1)
        assert near.density(share) == pytest.approx(wanted, rel=1e-4)


def test_choices_are_as_dense_as_they_are_frequent_and_none_is_impossible() -> None:
    near = estimate(KIND, "a", "a", "b")
    found = [near.density(KIND.share(value)) for value in "abc"]
    assert found == pytest.approx([7 / 12, 4 / 12, 1 / 12])


@pytest.mark.parametrize(
    ("one", "values", "dice", "share"),
    [
        (ETA, ("0.3", "0.8"), (0.0, 0.5), 0.3),
        (ETA, ("0.3", "0.8"), (0.5, 0.5), 0.8),
        (ETA, ("0.3", "0.8"), (0.0, 0.7), NormalDist(0.3, 1 / 3).inv_cdf(0.7)),
        (ETA, ("0.3", "0.8"), (0.0, 0.0), 0.0),
        (ETA, ("0.3", "0.8"), (0.5, 1.0 - 2**-53), 1.0),
        (ETA, ("0.3", "0.8"), (0.7, 0.42), 0.42),
        (KIND, ("a", "c"), (0.0,), 1 / 6),
        (KIND, ("a", "c"), (0.4,), 5 / 6),
        (KIND, ("a", "c"), (0.9, 0.42), 0.42),
    ],
)
def test_a_share_is_drawn_near_a_result_or_from_the_whole_range(
    one: ParameterRange, values: tuple[str, ...], dice: tuple[float, ...], share: float
) -> None:
    thrown = iter(dice)
    assert estimate(one, *values).draw(lambda: next(thrown)) == pytest.approx(share)
    assert list(thrown) == []


def searched(seed: int, jobs: int, strategy: str) -> float:
    """The least loss of a search."""
    results: list[TrialResult] = []
    for at in range(jobs):
        dice = Random(f"{seed} {at}").random
        proposed = drawn(RANGES, dice) if strategy == "Random" else bayesian(RANGES, results, dice)
        results.append(TrialResult(proposed, loss(proposed)))
    return min(result.loss for result in results)


@pytest.mark.thorough
def test_the_bayesian_strategy_finds_better_values_than_a_random_one_with_as_many_jobs() -> None:
    seeds = range(20)
    informed = sorted(searched(seed, 40, "Bayesian") for seed in seeds)
    blind = sorted(searched(seed, 40, "Random") for seed in seeds)
    assert informed[10] < 0.5 * blind[10]

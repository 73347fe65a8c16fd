"""What the strategies propose."""

from random import Random

from torpor_endpoint.core.tuning.parameter_ranges import Choices, NumberRange
from torpor_endpoint.core.tuning.tuning_proposals import RANDOM_FIRST, TrialResult, bayesian, drawn, grid_size, on_grid

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
    results = [TrialResult({"eta": "0.7", "depth": "5", "kind": "b"}, 0.0)] * (RANDOM_FIRST - 1)
    assert bayesian(RANGES, results, Random(7).random) == drawn(RANGES, Random(7).random)


def searched(seed: int, jobs: int, strategy: str) -> float:
    """The least loss of a search."""
    results: list[TrialResult] = []
    for at in range(jobs):
        dice = Random(f"{seed} {at}").random
        proposed = drawn(RANGES, dice) if strategy == "Random" else bayesian(RANGES, results, dice)
        results.append(TrialResult(proposed, loss(proposed)))
    return min(result.loss for result in results)


def test_the_bayesian_strategy_finds_better_values_than_a_random_one_with_as_many_jobs() -> None:
    seeds = range(20)
    informed = sorted(searched(seed, 40, "Bayesian") for seed in seeds)
    blind = sorted(searched(seed, 40, "Random") for seed in seeds)
    assert informed[10] < 0.5 * blind[10]

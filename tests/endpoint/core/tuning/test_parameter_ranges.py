"""The ranges of hyperparameters: every share is a value of the range, and every value has its share."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.tuning.parameter_ranges import BadRange, Choices, NumberRange, read_ranges

SHARES = st.floats(0, 1)
SCALED = [("Linear", -3.0, 7.5), ("Logarithmic", 1e-5, 10.0), ("ReverseLogarithmic", 0.5, 0.999)]


@given(st.integers(-50, 50), st.integers(0, 50), SHARES)
def test_a_whole_range_gives_its_numbers_and_each_comes_back(least: int, size: int, share: float) -> None:
    whole = NumberRange("depth", least, least + size, whole=True)
    value = whole.value(share)
    assert least <= int(value) <= least + size
    assert whole.value(whole.share(value)) == value


@given(
    st.sampled_from([("Linear", -3.0, 7.5), ("Logarithmic", 1e-5, 10.0), ("ReverseLogarithmic", 0.5, 0.999)]), SHARES
)
def test_a_continuous_range_gives_values_within_it_and_finds_their_shares(
    ends: tuple[str, float, float], share: float
) -> None:
    scaling, least, most = ends
    numbers = NumberRange("eta", least, most, scaling)
    value = numbers.value(share)
    assert least <= float(value) <= most
    assert numbers.share(value) == pytest.approx(share, abs=1e-6)


def test_each_whole_number_has_the_same_share() -> None:
    whole = NumberRange("depth", 1, 4, whole=True)
    values = [whole.value((at + 0.5) / 40) for at in range(40)]
    assert [values.count(one) for one in "1234"] == [10, 10, 10, 10]


def test_logarithmic_ranges_have_each_power_alike() -> None:
    numbers = NumberRange("eta", 0.001, 1.0, "Logarithmic")
    assert [round(float(numbers.value(share)), 6) for share in (0, 1 / 3, 2 / 3, 1)] == [0.001, 0.01, 0.1, 1.0]


def test_choices_have_equal_shares() -> None:
    choices = Choices("kind", ("a", "b", "c"))
    assert [choices.value(share) for share in (0, 0.33, 0.34, 0.67, 1)] == ["a", "a", "b", "c", "c"]
    assert [choices.value(choices.share(one)) for one in choices.values] == ["a", "b", "c"]


def test_one_number_is_a_range() -> None:
    assert NumberRange("eta", 0.3, 0.3).share("0.3") == 0.5
    assert NumberRange("eta", 0.3, 0.3).value(0.9) == "0.3"


def test_a_value_beyond_the_range_has_the_share_of_its_end_and_numbers_are_linear_unless_they_say() -> None:
    numbers = NumberRange("eta", 0.0, 1.0)
    assert [numbers.share(value) for value in ("-1", "0.5", "3")] == [0.0, 0.5, 1.0]
    assert numbers.scaling == "Linear"


def numbers(kind: str, least: str, most: str, **more: str) -> dict[str, list[dict[str, str]]]:
    return {f"{kind}ParameterRanges": [{"Name": "x", "MinValue": least, "MaxValue": most, **more}]}


@pytest.mark.parametrize(
    ("given", "scaling"),
    [
        (numbers("Continuous", "0.01", "1"), "Logarithmic"),
        (numbers("Continuous", "0.02", "1"), "Linear"),
        (numbers("Continuous", "0", "1"), "Linear"),
        (numbers("Integer", "1", "100", ScalingType="Linear"), "Linear"),
        (numbers("Integer", "1", "3", ScalingType="Logarithmic"), "Logarithmic"),
        (numbers("Continuous", "0", "0.9", ScalingType="ReverseLogarithmic"), "ReverseLogarithmic"),
        (numbers("Continuous", "0.5", "0.5", ScalingType="ReverseLogarithmic"), "ReverseLogarithmic"),
    ],
)
def test_the_scaling_is_the_given_one_or_fits_the_range(given: dict[str, list[dict[str, str]]], scaling: str) -> None:
    (one,) = read_ranges(given)
    assert isinstance(one, NumberRange)
    assert one.scaling == scaling


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "at least one"),
        (numbers("Integer", "1.5", "3"), "whole numbers"),
        (numbers("Continuous", "a", "3"), "must be numbers."),
        (numbers("Continuous", "nan", "3"), "must be numbers."),
        (numbers("Integer", "1_0", "30"), "whole numbers"),
        (numbers("Continuous", "0", "1e400"), "MinValue must not be more"),
        (numbers("Integer", "4", "3"), "MinValue must not be more"),
        (numbers("Continuous", "0", "3", ScalingType="Logarithmic"), "more than 0"),
        (numbers("Continuous", "0", "1", ScalingType="ReverseLogarithmic"), "0 <= x < 1"),
        (numbers("Integer", "0", "0", ScalingType="ReverseLogarithmic"), "continuous range"),
        (
            {**numbers("Integer", "1", "3"), "CategoricalParameterRanges": [{"Name": "x", "Values": ["a"]}]},
            "hyperparameter x must have one range",
        ),
    ],
)
def test_a_range_that_cannot_be_drawn_from_is_refused_by_name(
    given: dict[str, list[dict[str, object]]], said: str
) -> None:
    with pytest.raises(BadRange, match=re.escape(said)):
        read_ranges(given)

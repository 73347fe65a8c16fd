"""Synthetic traces from a line of text."""

import re
from inspect import signature
from pathlib import Path

import pytest

from torpor.workloads import BURSTY, BadTrace, made
from torpor.workloads.specification import MADE


def test_the_knobs_are_those_of_the_functions() -> None:
    trace = made("zipf:models=50,s=1.2,rate_hz=5,duration_s=600,seed=7,gaps=bursty")
    assert (len(trace.names), trace.duration_s, trace.seed, trace.groups[0].gaps) == (50, 600.0, 7, BURSTY)
    assert trace.rate_hz == pytest.approx(5.0)


def test_without_knobs_it_is_the_functions_own_choice() -> None:
    assert len(made("calibrated").names) == 1000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("zapf:models=3", "one of zipf, calibrated"),
        ("zipf:moodels=3", "'moodels' is not a parameter"),
        ("zipf:models=three", "models is a number, not 'three'"),
        ("zipf:gaps=odd", "gaps is one of poisson, timer, bursty, sessions, not 'odd'"),
        ("calibrated:s=1", "calibrated has no parameter"),
        ("zipf:rate_hz=-1", "rate_hz is more than 0"),
    ],
)
def test_a_text_that_makes_no_trace_is_refused_by_name(text: str, told: str) -> None:
    with pytest.raises(BadTrace, match=told):
        made(text)


@pytest.mark.parametrize("law", MADE)
def test_the_defaults_of_a_made_trace_are_those_of_the_docs(law: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "simulation.md").read_text()
    (line,) = re.findall(rf"(?:is|or)\s`({law}:[^`]*seed=[^`]*)`", page)
    told, plain = made(line), made(law)
    assert [knob.partition("=")[0] for knob in line.partition(":")[2].split(",")] == [
        name for name in signature(MADE[law]).parameters if name != "rate_hz" or law == "zipf"
    ]
    assert (told.what, told.duration_s, told.seed, told.rhythm) == (
        plain.what,
        plain.duration_s,
        plain.seed,
        plain.rhythm,
    )

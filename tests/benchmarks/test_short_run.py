"""The smoke runs of the benchmarks, as CI runs them: every section measures something. No time is asserted.

Not `benchmarks.fidelity --short`: it takes two minutes, and half a minute of a processor.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import placement

ROOT = Path(__file__).parents[2]
SECTIONS = {
    "warm",
    "protocols",
    "cold",
    "density",
    "resident",
    "bodies",
    "rest",
    "flatness",
    "sharing",
    "metering",
    "pipelines",
    "shadowing",
    "capturing",
    "tracing",
    "streaming",
    "scale",
}


@pytest.mark.thorough
def test_a_short_run_measures_every_section(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "--short", "--results", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    sections = json.loads((tmp_path / "latest.json").read_text())["sections"]
    assert set(sections) == SECTIONS
    figures = [value for rows in sections.values() for row in rows for value in row.values() if value != ""]
    assert all(math.isfinite(value) for value in figures if not isinstance(value, str))
    assert {row["target"] for row in sections["warm"]} >= {"Torpor, 1 model", "instance alone", "floor", "reference"}
    assert all(row["cpu_us"] > 0 for row in sections["warm"])
    assert (tmp_path / "cpu.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.thorough
def test_a_section_that_does_not_exist_is_named() -> None:
    command = [sys.executable, "-m", "benchmarks", "tepid"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 2
    assert "no section 'tepid'" in ended.stderr


@pytest.mark.thorough
@pytest.mark.slow
def test_a_short_run_of_the_simulators_speed_measures_every_engine(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.simulator", "--short", "--results", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = json.loads((tmp_path / "simulator.json").read_text())
    assert results["same_story"]
    measured = {name.removesuffix(" (plain)") for name in results["per_second"]}
    assert measured > {"kernel, events", "SimPy, events", "cachetools' LRU, requests"}
    assert all(speed["median"] > 0 for speed in results["per_second"].values())


def test_a_small_fleet_is_measured_and_one_router_overloads_no_instance() -> None:
    rows = placement.fleets(placement.SHORT, seed=1)
    assert all(0 < row["hit ratio"] < 1 <= row["copies"] for row in rows)
    alone, several = (
        [row for row in rows if row["routers"] == routers and row["busy_min"] == busy_min]
        for routers, busy_min in ((1, placement.LIMIT), (8, 1))
    )
    assert [(row["over %"], row["most in flight"]) for row in alone] == [(0.0, placement.LIMIT)] * 2
    assert all(row["over %"] > 0 for row in several)
    assert all(ns > 0 for row in placement.picks(placement.SHORT) for ns in row.values())

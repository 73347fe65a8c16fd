"""What a shadow variant that gets a copy of every request adds to the callers' latency: with it and without, in turn."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.live import NAME, Serve
from benchmarks.measure import Figures, Target, Turn, agree, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

WITH, WITHOUT = "with a shadow at 100 %", "without"
SHADOWED = f"{NAME}-shadowed"


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    expected = make_models(artifacts, 1)
    with live() as running:
        running.link(artifacts)
        running.deploy()
        running.deploy(endpoint=SHADOWED)
        running.shadow(SHADOWED)
        targets = [running.through(WITH, expected, SHADOWED), running.through(WITHOUT, expected)]
        agree(targets)
        return [row for connections in sizes.connections for row in _measured(targets, connections, sizes)]


def _measured(targets: Sequence[Target], connections: int, sizes: Sizes) -> list[Figures]:
    turns = warm(targets, (), connections, sizes.turn_s, sizes.rounds)
    return [_row(name, connections, seen, turns[WITHOUT]) for name, seen in turns.items()]


def _row(name: str, connections: int, turns: Sequence[Turn], without: Sequence[Turn]) -> Figures:
    ratios = [one.p50_ms / other.p50_ms for one, other in zip(turns, without, strict=True)]
    return {"what": name, "connections": connections, **figures(turns), **spread("p50_of_without", ratios)}

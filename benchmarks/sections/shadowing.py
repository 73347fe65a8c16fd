"""What a shadow variant with a copy of every request adds to the callers' latency: with it and without, in turn.

A caller that pauses between its requests leaves the machine idle time, as callers of a real endpoint do. A caller that
never pauses shares the processors with the shadow variant, which does as much work again.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.live import NAME, Serve
from benchmarks.measure import Figures, Target, Turn, agree, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

WITH, WITHOUT = "with a shadow at 100 %", "without"
SHADOWED = f"{NAME}-shadowed"
CONNECTIONS = 1


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
        return [row for pause_ms in sizes.pauses_ms for row in _measured(targets, pause_ms, sizes)]


def _measured(targets: Sequence[Target], pause_ms: int, sizes: Sizes) -> list[Figures]:
    turns = warm(targets, (), CONNECTIONS, sizes.turn_s, sizes.rounds, pause_ms / 1000)
    return [_row(name, pause_ms, seen, turns[WITHOUT]) for name, seen in turns.items()]


def _row(name: str, pause_ms: int, turns: Sequence[Turn], without: Sequence[Turn]) -> Figures:
    ratios = [one.p50_ms / other.p50_ms for one, other in zip(turns, without, strict=True)]
    return {"what": name, "pause_ms": pause_ms, **figures(turns), **spread("p50_of_without", ratios)}

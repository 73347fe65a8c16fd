"""Warm requests by the Open Inference Protocol beside the same rows as CSV, at one endpoint and at its instance alone.

The targets take turns, and each round's processor time is compared with CSV's in that round.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import v2_requests
from benchmarks.live import Serve
from benchmarks.measure import Figures, Turn, agree, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

CSV = "CSV"
ALONE = "the instance alone, "


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    expected = make_models(artifacts, 1)
    with live() as running:
        running.link(artifacts)
        running.deploy()
        targets = [
            running.through(CSV, expected),
            v2_requests.in_json(running, "V2 in JSON", expected),
            v2_requests.in_binary(running, "V2 in binary", expected),
            v2_requests.in_binary(running, "V2 in binary, each with an id of its own", expected, ids=v2_requests.IDS),
            running.direct(f"{ALONE}{CSV}", expected),
            v2_requests.at_the_instance(running, f"{ALONE}V2 in binary", expected),
        ]
        agree(targets)
        found: list[Figures] = []
        for connections in sizes.connections:
            warm(targets, (), connections, sizes.turn_s, 1)  # not measured: connections and caches warm up
            turns = warm(targets, (), connections, sizes.turn_s, sizes.rounds)
            found += [_row(name, connections, turns) for name in turns]
        return found


def _row(name: str, connections: int, turns: Mapping[str, Sequence[Turn]]) -> Figures:
    base = f"{ALONE}{CSV}" if name.startswith(ALONE) else CSV
    ratios = [one.cpu_us / other.cpu_us for one, other in zip(turns[name], turns[base], strict=True)]
    return {"target": name, "connections": connections, **figures(turns[name]), **spread("cpu_of_csv", ratios)}

"""`python -m benchmarks.routers.one_port [--rounds N] [--seconds S]`: what several processes at one port cost.

An endpoint alone and one with two routers at its port answer the same warm calls in turns, over 1, 8, 32 and 96
connections: requests a second, processor time of all processes per request beside the endpoint's alone, and how many of
the calls each process has had. Calls of eight connections and more must spread so that none has twice its share.
"""

import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

from rich.console import Console

from benchmarks import client, scene
from benchmarks.command import command, keep
from benchmarks.interrupted.stand import Stand
from benchmarks.measure import Figures, Target, Turn, warm
from benchmarks.routers.callers import ENDPOINT
from benchmarks.routers.shop import RoutersPlan, deploy, model
from benchmarks.tables import table

CONNECTIONS = (1, 8, 32, 96)
ROUTERS = 2
REPORTED_S = 3.0
"""A router at rest reports every two seconds."""
SHARE_MAX = 2.0
"""So many times its even share a process may have."""
ALONE, SHARED = "one process", f"one port, {1 + ROUTERS} processes"


def main() -> None:
    parser = command("one_port", __doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="one-port-") as folder:
        rows = run(Path(folder), arguments.rounds, arguments.seconds)
    Console(width=160).print(table("Warm calls in turns, processor microseconds of all processes", rows))
    keep(arguments.results, "one_port", rows)
    sys.exit(any(float(row["largest share"]) > SHARE_MAX for row in rows if row["connections"] != 1))


def run(folder: Path, rounds: int, turn_s: float) -> list[Figures]:
    with ExitStack() as running:
        alone = running.enter_context(Stand(folder / "alone"))
        shared = running.enter_context(Stand(folder / "shared", f"--routers={ROUTERS}"))
        targets = [_target(ALONE, alone), _target(SHARED, shared)]
        _all_accept(shared)
        rows = []
        for connections in CONNECTIONS:
            before = _routed(shared)
            turns = warm(targets, [], connections, turn_s, rounds)
            after = _routed(shared)
            rows.append(_row(connections, turns, [after[name] - before[name] for name in after]))
    return rows


def _row(connections: int, turns: dict[str, list[Turn]], calls: list[int]) -> Figures:
    ratios = [shared.cpu_us / alone.cpu_us for alone, shared in zip(turns[ALONE], turns[SHARED], strict=True)]
    return {
        "connections": connections,
        **{f"{name}, a second": median(one.per_second for one in turns[name]) for name in (ALONE, SHARED)},
        **{f"{name}, µs": median(one.cpu_us for one in turns[name]) for name in (ALONE, SHARED)},
        "ratio of µs": median(ratios),
        "calls of each": ", ".join(map(str, calls)),
        "largest share": max(calls) * len(calls) / sum(calls),
    }


def _target(name: str, stand: Stand) -> Target:
    """One warm model on one instance."""
    (stand.bucket("benchmark") / "7.tar").write_bytes(model(7.0))
    deploy(stand, RoutersPlan(models=20, instances=1))
    headers = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": "7.tar"}
    asked = client.request(f"/endpoints/{ENDPOINT}/invocations", headers, b"1")
    return Target(name, ("127.0.0.1", stand.port), [asked], [7.0], lambda: scene.tree(stand.pid))


def _page(stand: Stand) -> dict[str, Any]:
    with urlopen(f"{stand.url}/_torpor/routers", timeout=30) as answer:
        page: dict[str, Any] = json.load(answer)
    return page


def _all_accept(stand: Stand) -> None:
    while (connections := _page(stand)["connections"]) and None in connections:
        time.sleep(0.1)


def _routed(stand: Stand) -> dict[str, int]:
    """The calls of each process, once no router has any to report."""
    time.sleep(REPORTED_S)
    page = _page(stand)
    return {name: counted["invocations"] for name, counted in {"control": page["control"], **page["routers"]}.items()}


if __name__ == "__main__":
    main()

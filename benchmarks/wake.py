"""`python -m benchmarks.wake [--short]`: from nothing running to the first byte of an answer, alone and in crowds.

It reports what was slow, wrong or lost, and asserts nothing.
"""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.crowds import Crowds, Rush
from benchmarks.own_answers import make_models
from benchmarks.restarting import restarts
from benchmarks.sleeping import BUCKET, Sleepers, sleepers
from benchmarks.tables import table
from benchmarks.waking import at_zero, wakes


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    wakes: int = 30
    restarts: int = 10
    quiet_s: float = 20.0
    crowd: int = 1000
    models: int = 100
    rounds: int = 5
    endpoints: tuple[int, ...] = (1, 5, 25, 100)


SHORT = Sizes(wakes=3, restarts=2, quiet_s=5.0, crowd=100, models=10, rounds=1, endpoints=(1, 5))


def main() -> None:
    parser = command("wake", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: few wakes, figures that mean little")
    wanted = parser.parse_args()
    sizes = SHORT if wanted.short else Sizes()
    with sleepers() as scenery:
        results = run(scenery, sizes)
    results["restart_ms"] = [asdict(row) for row in restarts(sizes.restarts)]
    show(results)
    keep(wanted.results, "wake", results)


def run(sleeping: Sleepers, sizes: Sizes) -> dict[str, Any]:
    answers = make_models(sleeping.process.bucket_folder(BUCKET) / "models", sizes.models)
    sleeping.add("alone")
    sleeping.add("crowd", instances=4)
    crowds = Crowds(sleeping, answers, sizes.rounds)
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "wake_ms": wakes(sleeping, sizes.wakes),
        "crowd": [asdict(crowds.crowd("crowd", sizes.crowd))],
        "dawn": [asdict(row) for row in _dawns(sleeping, crowds, sizes.endpoints)],
        "zero": [asdict(row) for row in at_zero(sleeping, sizes.quiet_s)],  # last, with all those endpoints in service
    }


def _dawns(sleeping: Sleepers, crowds: Crowds, counts: tuple[int, ...]) -> Iterator[Rush]:
    """Add endpoints until there are as many as the next step needs."""
    names: list[str] = []
    for count in counts:
        while len(names) < count:
            names.append(f"dawn-{len(names)}")
            sleeping.add(names[-1])
        yield crowds.dawn(names)


def show(results: dict[str, Any]) -> None:
    console = Console(width=160)
    console.print(f"{results['machine']}")
    for title, name in (
        ("One request to an endpoint that sleeps: ms to the first byte; medians of its steps", "wake_ms"),
        ("A restart of the endpoint: ms to the first answer of one that sleeps", "restart_ms"),
        ("At zero", "zero"),
        ("Requests that arrive at once: ms to the first byte", "crowd"),
        ("Endpoints that are woken at the same moment: ms to the first byte", "dawn"),
    ):
        console.print(table(title, results[name]))


if __name__ == "__main__":
    main()

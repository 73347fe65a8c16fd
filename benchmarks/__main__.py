"""`python -m benchmarks [SECTION ...] [--short]`: speed, density and size beside bare servers and beside peers.
`python -m benchmarks [cold] --against REV` measures warm requests, or first calls, beside another revision.

It prints tables, and writes `benchmarks/results/latest.json` and plots. It asserts only that answers are right.
"""

import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import against, cold_against
from benchmarks.command import command, keep
from benchmarks.live import Serve, live, one_process
from benchmarks.measure import Figures
from benchmarks.peers.all import missing
from benchmarks.plots import draw
from benchmarks.sections import (
    bodies,
    capturing,
    cold,
    density,
    flatness,
    metering,
    pipelines,
    protocols,
    resident,
    rest,
    scaling,
    shadowing,
    sharing,
    streaming,
    tracing,
    transforming,
    warm,
)
from benchmarks.sizes import SHORT, Sizes
from benchmarks.tables import table

RATIO = "cpu_of_"
RATIOS_MAX = 3
LABELS = ("target", "connections")
Section = Callable[[Path, Sizes, Serve], list[Figures]]

SECTIONS: dict[str, tuple[str, Section]] = {
    "warm": ("Requests to models that are loaded", warm.rows),
    "protocols": ("Warm requests of the Open Inference Protocol beside CSV", protocols.rows),
    "cold": ("The first call to a model", cold.rows),
    "density": ("Many boosters in one endpoint of four instances", density.rows),
    "resident": ("What a model costs in memory", resident.rows),
    "bodies": ("Large bodies", bodies.rows),
    "rest": ("An endpoint process that serves nothing", rest.rows),
    "flatness": ("By number of models in memory, 8 connections", flatness.rows),
    "sharing": (f"Batches of up to {sharing.BATCH_SIZE}, and small models beside a slow one", sharing.rows),
    "metering": ("What metrics and ledger add to a warm request", metering.rows),
    "pipelines": ("What a pipeline of two containers costs beside its parts", pipelines.rows),
    "shadowing": ("What a shadow variant adds to the latency of a warm request", shadowing.rows),
    "capturing": ("What data capture of every request adds to a warm request", capturing.rows),
    "tracing": ("What telemetry adds to a warm request", tracing.rows),
    "streaming": ("What streamed answers cost", streaming.rows),
    "scale": ("What the control spends on its routers, by the size of the fleet", scaling.rows),
    "transforming": ("Rows that a transform job scores, beside a bare loop", transforming.rows),
}

NOT_SHORT = frozenset({"transforming"})
"""A smoke run has these only if they are named: each takes seconds however small it is."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command("", __doc__)
    parser.add_argument("section", nargs="*", help=f"one of {', '.join(SECTIONS)}; all of them if none is named")
    parser.add_argument("--short", action="store_true", help="a smoke run without peers: figures that mean little")
    parser.add_argument(
        "--against", metavar="REV", help="measure warm requests beside this revision; with cold, first calls"
    )
    parser.add_argument("--models", type=int, help="how many boosters the section density has; 10,000 if left out")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.section if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    if asked.against is not None:
        is_cold = asked.section == ["cold"]
        measured, what = (cold_against.rows, "First calls") if is_cold else (against.rows, "Warm requests")
        rows = measured(asked.against, SHORT if asked.short else Sizes())
        Console(width=220).print(table(f"{what} here, and at {asked.against}", rows))
        kept = {"revision": asked.against, "load": os.getloadavg()[0], "rows": rows}
        keep(asked.results, "cold-against" if is_cold else "against", kept)
        return
    names = asked.section or [name for name in SECTIONS if not (asked.short and name in NOT_SHORT)]
    sizes = SHORT if asked.short else Sizes()
    results = run(names, replace(sizes, boosters=asked.models or sizes.boosters), Console(width=220))
    keep(asked.results, "latest", results)
    draw(results, asked.results)


def run(names: Sequence[str], sizes: Sizes, console: Console) -> dict[str, Any]:
    """Run each section in a folder of its own, and print its table as soon as it is measured."""
    absent = missing() if sizes.peers else []
    if absent:
        console.print(f"Not installed, and left out: {', '.join(absent)}. `make bench-peers` installs them.")
    found: dict[str, list[Figures]] = {}
    loads: dict[str, list[float]] = {}
    with one_process() if sizes.one_process else nullcontext(live) as serve:
        for name in names:
            title, section = SECTIONS[name]
            before, began_s = os.getloadavg()[0], time.monotonic()
            with tempfile.TemporaryDirectory(prefix="torpor-benchmarks-") as folder:
                found[name] = section(Path(folder), sizes, serve)
            loads[name] = [before, os.getloadavg()[0]]
            took_s = time.monotonic() - began_s
            show(f"{title} (load {loads[name][0]:.1f} to {loads[name][1]:.1f}, {took_s:.0f} s)", found[name], console)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": loads}
    return {"at": f"{datetime.now(UTC):%F %R}", "machine": machine, "peers_not_installed": absent, "sections": found}


def show(title: str, rows: Sequence[Figures], console: Console) -> None:
    """Ratios have a table of their own if there are many."""
    ratios = [name for name in rows[0] if name.startswith(RATIO)]
    if len(ratios) <= RATIOS_MAX:
        console.print(table(title, rows))
        return
    console.print(table(title, ({name: row[name] for name in row if name not in ratios} for row in rows)))
    beside = ({name: row[name] for name in row if name in (*LABELS, *ratios)} for row in rows)
    console.print(table(f"{title}: times the processor time of", beside))


if __name__ == "__main__":
    main()

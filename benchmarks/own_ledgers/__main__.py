"""`python -m benchmarks.own_ledgers [WORKLOAD …]`: workloads live, each beside its own ledger.

It says of each figure whether the forecast is within the aim, and of each workload whether the machine was too busy to
judge its times. It asserts nothing.
"""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.own_ledgers.own_forecast import beside
from benchmarks.own_ledgers.stage import SLO_S, stage
from benchmarks.own_ledgers.workloads import WORKLOADS
from benchmarks.tables import table
from torpor.confirming.core.difference_causes import causes


def main() -> None:
    parser = command("own_ledgers", __doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"some of {', '.join(WORKLOADS)}; else all")
    wanted = parser.parse_args()
    if unknown := set(wanted.workloads) - WORKLOADS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: the workloads are {', '.join(WORKLOADS)}")
    results = {name: measured(name) for name in wanted.workloads or WORKLOADS}
    keep(wanted.results, "own_ledgers", results)


def measured(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        with stage(Path(folder)) as live:
            played = WORKLOADS[name](live)
        compared, assumed = beside(played, SLO_S)
    rows = [
        {"figure": one.figure, "forecast": one.forecast, "live": one.live, "off": one.off, "aim": one.aim}
        | {"": {True: "", False: "differs", None: "not judged"}[one.agrees]}
        for one in compared.figures
    ]
    busy = "the machine was too busy to judge times" if compared.busy else "the machine was idle enough to judge"
    printer = Console(width=120)
    printer.print(table(f"{name}: {busy}", [{key: _told(cell) for key, cell in row.items()} for row in rows]))
    for line in (*causes(compared, 0, {}), *(f"assumed: {one}" for one in assumed)):
        printer.print(line)
    return {"busy": compared.busy, "strain": asdict(compared.strain), "figures": rows}


def _told(cell: object) -> str:
    return "-" if cell is None else f"{cell:,.5g}" if isinstance(cell, float) else str(cell)


if __name__ == "__main__":
    main()

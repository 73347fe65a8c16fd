"""`python -m benchmarks.own_ledgers [WORKLOAD …] [--plans N]`: workloads live, each beside its own ledger.

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
from benchmarks.own_ledgers.random_plans import confirmations, profiled
from benchmarks.own_ledgers.stage import SLO_S, stage
from benchmarks.own_ledgers.workloads import WORKLOADS
from benchmarks.tables import table
from torpor.confirming.core.difference_causes import causes


def main() -> None:
    parser = command("own_ledgers", __doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"some of {', '.join(WORKLOADS)}; else all")
    parser.add_argument(
        "--plans", type=int, metavar="N", help="confirm plans for N random workloads, and play no other"
    )
    wanted = parser.parse_args()
    if unknown := set(wanted.workloads) - WORKLOADS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: the workloads are {', '.join(WORKLOADS)}")
    if wanted.plans:
        keep(wanted.results, "random_plans", confirmed(wanted.plans))
        return
    results = {name: measured(name) for name in wanted.workloads or WORKLOADS}
    keep(wanted.results, "own_ledgers", results)


def confirmed(plans: int) -> list[dict[str, Any]]:
    rows = list[dict[str, Any]]()
    printer = Console(width=150)
    with tempfile.TemporaryDirectory() as folder:
        models = [profiled(Path(folder) / kind, kind == "scripts") for kind in ("native", "scripts")]
        for number, done in enumerate(confirmations(models, plans)):
            compared = done.compared
            counts = {one.figure: one for one in done.figures}
            row: dict[str, Any] = {
                "plan": done.scenario.name,
                "goal": str(compared.goal),
                "verdict": done.verdict.value,
            }
            row |= {"forecast meets": compared.forecast_meets, "live meets": compared.live_meets, "busy": compared.busy}
            row |= {name: f"{counts[name].forecast:g}, {counts[name].live:g}" for name in ("loads", "wakes")}
            printer.print(f"{number}: {row}")
            for cause in done.causes:
                printer.print(f"   {cause}")
            rows.append(row)
    printer.print(table(f"{plans} plans for random workloads, native and scripts in turn; forecast, live", rows))
    same = sum(row["verdict"] == "the same" for row in rows)
    unknown = sum(row["verdict"] == "unknown" for row in rows)
    printer.print(f"the same verdict: {same} of {plans}; {unknown} could not be judged on a machine as busy as this")
    return rows


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

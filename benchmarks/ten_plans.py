"""`python -m benchmarks.ten_plans [--plans N] [--anew]`: plans for random workloads, each confirmed live.

Native models and scripts in turn: from a ledger to a plan, and from the plan to an endpoint of its configuration. Each
plan is kept when it is done, so that the command goes on where it was stopped. Ten take about ten minutes on two
processors without other work. It asserts nothing.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.command import command
from benchmarks.own_ledgers.random_plans import confirmed, profiled
from benchmarks.tables import table
from torpor.confirming.core.forecast_beside_fact import ForecastBesideFact, LiveVerdict
from torpor.confirming.plan_confirmation import Confirmation

KINDS = ("native", "scripts")
COUNTED = ("loads", "evictions", "wakes", "most instances", "failed")


def main() -> None:
    parser = command("ten_plans", __doc__)
    parser.add_argument("--plans", type=int, default=10, metavar="N")
    parser.add_argument("--anew", action="store_true", help="forget what is kept, and begin again")
    wanted = parser.parse_args()
    kept: Path = wanted.results / "ten_plans"
    if wanted.anew:
        shutil.rmtree(kept, ignore_errors=True)
    printer = Console(width=160)
    rows = [_row_of(kept, number, printer) for number in range(wanted.plans)]
    printer.print(table("forecast, live; late of the requests, of which so many may be", rows))
    verdicts = [row["verdict"] for row in rows]
    printer.print(
        f"the verdict is the same in {verdicts.count(LiveVerdict.SAME.value)} of {len(rows)}, reversed in"
        f" {verdicts.count(LiveVerdict.REVERSED.value)}, undecided at the goal's bound in"
        f" {verdicts.count(LiveVerdict.UNDECIDED.value)}, and not judged on a machine as busy as this in"
        f" {verdicts.count(LiveVerdict.UNKNOWN.value)}; counts are as forecast in"
        f" {sum(row['counts'] == 'as forecast' for row in rows)}"
    )


def _row_of(kept: Path, number: int, printer: Console) -> dict[str, Any]:
    file, kind = kept / f"{number:02}.json", KINDS[number % len(KINDS)]
    if file.exists():
        row: dict[str, Any] = json.loads(file.read_text())
    else:
        row = told(number, kind, confirmed(profiled(kept / kind, kind == "scripts"), number))
        file.write_text(json.dumps(row, indent=1))
    printer.print(", ".join(f"{name}: {cell}" for name, cell in row.items() if name != "causes"))
    for cause in row["causes"]:
        printer.print(f"   {cause}", style="dim")
    return {name: cell for name, cell in row.items() if name not in ("causes", "goal")}


def told(number: int, kind: str, done: Confirmation) -> dict[str, Any]:
    compared = done.compared
    figures = {one.figure: one for one in done.figures}
    counts = {name: f"{figures[name].forecast:g}, {figures[name].live:g}" for name in COUNTED}
    off = [f"{name} {cell}" for name, cell in counts.items() if figures[name].agrees is False]
    return {
        "plan": f"{number}: {kind}, {done.scenario.name}",
        "goal": str(compared.goal),
        "verdict": compared.verdict.value,
        "meets": f"{_met(compared.forecast_meets)}, {_met(compared.live_meets)}",
        "late": f"{compared.forecast.late_share:.1%}, {compared.live.late_share:.1%}",
        "may be": f"{1 - compared.goal.quantile:.0%}",
        "p99 / SLO": f"{_of_slo(compared, compared.forecast.p99_s)}, {_of_slo(compared, compared.live.p99_s)}",
        "counts": "; ".join(off) or "as forecast",
        "busy": "busy" if compared.busy else "",
        "waited": f"{compared.strain.waiting_share:.0%}",
        "sent late": f"{compared.strain.sent_late_s * 1000:.1f} ms",
        "causes": list(done.causes),
    }


def _met(meets: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[meets]


def _of_slo(compared: ForecastBesideFact, p99_s: float | None) -> str:
    return "-" if p99_s is None else f"{p99_s / compared.goal.slo_s:.2f}"


if __name__ == "__main__":
    main()

"""The figures of a soak test, as tables and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import quantiles
from typing import Any

from rich.console import Console

from benchmarks.soak.answers import Verdict
from benchmarks.soak.soaking import Soaked
from benchmarks.tables import table

PERCENTS = (50, 95, 99)


def as_json(soaked: Soaked) -> dict[str, Any]:
    truth = soaked.truth
    return {
        "seed": soaked.seed,
        "took_s": soaked.took_s,
        "calls": {verdict.value: truth.count(verdict) for verdict in Verdict},
        "by_endpoint": _by_endpoint(soaked),
        "done": dict(sorted(truth.deeds.items())),
        "errors": dict(truth.errors.most_common()),
        "latency_ms": {"warm": _spread_ms(truth.warm_s), "cold": _spread_ms(truth.cold_s)},
        "looks": [asdict(look) for look in soaked.looks],
        "faults": soaked.faults,
    }


def show(console: Console, soaked: Soaked) -> None:
    told = as_json(soaked)
    calls = [{"endpoint": name, **counts} for name, counts in told["by_endpoint"].items()]
    console.print(table("Calls", [*calls, {"endpoint": "all", **told["calls"]}]))
    console.print(table("What they were told, if not an answer", _pairs("error", told["errors"])))
    console.print(table("What was done meanwhile", _pairs("deed", told["done"])))
    rows = [{"calls": name, **spread} for name, spread in told["latency_ms"].items()]
    console.print(table("Latency, in ms", rows))
    looks = [
        {name: len(cell) if name == "temporary" else cell for name, cell in look.items() if name != "kinds"}
        for look in told["looks"]
    ]
    console.print(table("What was held on to, with everything asleep", looks))
    console.print(f"seed {soaked.seed}, {soaked.took_s:.0f} s in all: ", end="")
    console.print("\n".join([f"{len(told['faults'])} faults", *told["faults"]]), markup=False)


def _by_endpoint(soaked: Soaked) -> dict[str, dict[str, int]]:
    verdicts = soaked.truth.verdicts
    names = sorted({name for name, _ in verdicts})
    return {name: {verdict.value: verdicts[name, verdict] for verdict in Verdict} for name in names}


def _spread_ms(took_s: Sequence[float]) -> dict[str, float]:
    if len(took_s) < 2:
        return {"count": len(took_s)}
    cuts = quantiles(took_s, n=100, method="inclusive")
    return {
        "count": len(took_s),
        **{f"p{percent}": 1000 * cuts[percent - 1] for percent in PERCENTS},
        "max": 1000 * max(took_s),
    }


def _pairs(name: str, counted: dict[str, int]) -> list[dict[str, Any]]:
    return [{name: key, "times": number} for key, number in counted.items()]

"""`python -m benchmarks.hostile [--files 300] [--seed 0] [--memory-mib 1024]`: hostile model files beside a good one.

Every file is called twice on an endpoint with one instance, while another caller calls a good model. It ends with 1 if
the instance was lost, a call of the good model failed or took over a second, or memory went beyond the bound.
"""

import asyncio
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.hostile.beside import Seen, call_beside, put
from benchmarks.hostile.files import Hostile, hostile
from benchmarks.live import live
from benchmarks.own_answers import make_models
from benchmarks.tables import table
from torpor_container.core.trials import MIB, allowance_bytes

GOOD_WITHIN_S = 1.0


def main() -> None:
    parser = command("hostile", __doc__)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory-mib", type=int, default=1024)
    told = parser.parse_args()
    files = list(hostile(told.seed, told.files))
    seen = run(files, told.memory_mib)
    faults = faults_of(seen, told.memory_mib * MIB)
    results = {"seed": told.seed, "files": told.files, "memory_mib": told.memory_mib, **figures(seen), "faults": faults}
    console = Console(width=160)
    console.print(table(f"Hostile model files, seed {told.seed}", [dict(results, faults=len(faults))]))
    console.print(table("What their callers were told", by_kind(files, seen)))
    for fault in faults:
        console.print(fault)
    keep(told.results, "hostile", results)
    sys.exit(bool(faults))


def run(files: list[Hostile], memory_mib: int) -> Seen:
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, live() as endpoint:
        ((good, answer),) = make_models(Path(folder), 1).items()
        endpoint.link(Path(folder))
        names = put(endpoint, files)
        endpoint.deploy(TORPOR_MEMORY_MIB=memory_mib)
        endpoint.load([good])
        return asyncio.run(call_beside(endpoint, names, good, answer))


def figures(seen: Seen) -> dict[str, float]:
    return {
        "refused": seen.statuses[424],
        "answered": seen.statuses[200],
        "slowest_s": round(seen.slowest_s, 2),
        "good_calls": len(seen.good_s),
        "good_failed": len(seen.good_failed),
        "good_p50_ms": round(1000 * median(seen.good_s), 2),
        "good_max_ms": round(1000 * max(seen.good_s), 1),
        "instance_mib": seen.instance_bytes // MIB,
        "with_trials_mib": seen.all_bytes // MIB,
        "incarnations": len(seen.incarnations),
    }


def faults_of(seen: Seen, budget_bytes: int) -> list[str]:
    """The failures, in words."""
    bound_bytes = budget_bytes + allowance_bytes(budget_bytes)
    rules = {
        f"{len(seen.incarnations)} instances served: one was lost": len(seen.incarnations) != 1,
        f"a call of the good model failed: {seen.good_failed[:1]}": bool(seen.good_failed),
        f"a call of the good model took {max(seen.good_s):.2f} s": max(seen.good_s) > GOOD_WITHIN_S,
        f"the instance took {seen.instance_bytes:,} bytes": seen.instance_bytes > budget_bytes,
        f"with its trials it took {seen.all_bytes:,} bytes": seen.all_bytes > bound_bytes,
        f"an answer was neither a prediction nor the model's error: {seen.odd[:1]}": bool(seen.odd),
    }
    return [rule for rule, broken in rules.items() if broken]


def by_kind(files: list[Hostile], seen: Seen) -> list[dict[str, object]]:
    told: dict[str, list[str]] = defaultdict(list)
    for file, said in zip(files, seen.told.values(), strict=True):
        told[file.kind].append(said)
    return [
        {
            "kind": kind,
            "files": len(said),
            "quarantined": sum("quarantined" in one for one in said),
            "answered": sum("ModelError" not in one and "error" not in one for one in said),
        }
        for kind, said in told.items()
    ]


if __name__ == "__main__":
    main()

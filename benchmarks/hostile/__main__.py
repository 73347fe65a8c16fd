"""`python -m benchmarks.hostile [--files 300] [--seed 0] [--memory-mib 1024] [--trust code] [--scripts]`: hostile model
files beside a good one.

Every file is called twice on an endpoint with one instance, while another caller calls a good model. It ends with 1 if
the instance was lost, a call of the good model failed or took over a second, memory went beyond the bound, or a file
reached a place outside. `--trust data` loads only formats that run no code; `--scripts` calls hostile scripts in place
of files, each of which must end in an error.
"""

import asyncio
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.hostile.archives import ARCHIVES, ESCAPED
from benchmarks.hostile.beside import Seen, call_beside, put
from benchmarks.hostile.files import Hostile, hostile
from benchmarks.hostile.scripts import scripts
from benchmarks.live import NAME, Live, live
from benchmarks.own_answers import make_models
from benchmarks.tables import table
from torpor_container.core.trials import MIB, allowance_bytes
from torpor_container.processes.process_tree import parent

GOOD_WITHIN_S = 1.0


def main() -> None:
    parser = command("hostile", __doc__)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory-mib", type=int, default=1024)
    parser.add_argument("--trust", choices=("code", "data"), default="code")
    parser.add_argument("--scripts", action="store_true")
    told = parser.parse_args()
    files, seen = run(told.seed, told.files, told.memory_mib, told.trust, told.scripts)
    faults = faults_of(seen, told.memory_mib * MIB)
    if told.scripts and (harmful := [name for name, said in seen.told.items() if "harm done" in said]):
        faults.append(f"{len(harmful)} scripts did their harm: {harmful[0]}")
    if told.scripts or told.trust == "data":
        faults += [f"{path} is there: a file reached it" for path in escaped()]
    given = {"seed": told.seed, "files": len(files), "memory_mib": told.memory_mib, "trust": told.trust}
    results = {**given, **figures(seen), "faults": faults}
    console = Console(width=160)
    console.print(table(f"Hostile model files, seed {told.seed}", [dict(results, faults=len(faults))]))
    console.print(table("What their callers were told", by_kind(files, seen)))
    for fault in faults:
        console.print(fault)
    keep(told.results, "hostile-scripts" if told.scripts else "hostile", results)
    sys.exit(bool(faults))


def run(seed: int, count: int, memory_mib: int, trust: str, of_scripts: bool) -> tuple[list[Hostile], Seen]:
    for left in escaped():
        left.unlink()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, live() as endpoint:
        ((good, answer),) = make_models(Path(folder), 1).items()
        endpoint.link(Path(folder))
        small = SMALL if of_scripts else {}
        endpoint.deploy(1, NAME, TORPOR_MEMORY_MIB=memory_mib, TORPOR_TRUST=trust, **small)
        endpoint.load([good])
        files = list(scripts(places_of(endpoint, Path(folder))) if of_scripts else mixed(seed, count))
        return files, asyncio.run(call_beside(endpoint, put(endpoint, files), good, answer))


SMALL: dict[str, object] = {
    "TORPOR_SCRIPT_NETWORK": "endpoint",
    "TORPOR_SCRIPT_DISK_MIB": 8,
    "TORPOR_SCRIPT_PROCESSES": 12,
    "TORPOR_INVOCATION_TIMEOUT_SECONDS": 5,
}
"""Bounds that hostile scripts reach soon."""


def places_of(endpoint: Live, folder: Path) -> dict[str, object]:
    """The places that hostile scripts would reach."""
    (folder / "s3").mkdir()
    (folder / "s3" / "secret").write_text("secret")
    (instance,) = endpoint.instances()
    (socket, *_) = (endpoint.folder.parents[2] / "run").glob("w*-*")
    return {"outside": folder, "instance": instance, "zygote": parent(instance), "socket": socket}


def mixed(seed: int, count: int) -> Iterator[Hostile]:
    """Model files and archives in turn."""
    chance = random.Random(seed)
    kinds = list(ARCHIVES)
    for number, file in enumerate(hostile(seed, count)):
        kind = kinds[number // 4 % len(kinds)]
        yield Hostile(kind, "", b"", ARCHIVES[kind](chance)) if number % 4 == 3 else file


def escaped() -> list[Path]:
    """Files that hostile ones left outside their folders."""
    return [path for path in Path("/tmp").glob(f"{ESCAPED}*") if path.is_file()]


def figures(seen: Seen) -> dict[str, float]:
    return {
        "refused": seen.statuses[424] + seen.statuses[400],
        "answered": seen.statuses[200],
        "slowest_s": round(seen.slowest_s, 2),
        "good_calls": len(seen.good_s),
        "good_failed": len(seen.good_failed),
        "good_p50_ms": round(1000 * median(seen.good_s), 2),
        "good_p99_ms": round(1000 * quantiles(seen.good_s, n=100)[98], 2),
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
            "answered": sum(not any(word in one for word in ("ModelError", "error", "cannot be used")) for one in said),
        }
        for kind, said in told.items()
    ]


if __name__ == "__main__":
    main()

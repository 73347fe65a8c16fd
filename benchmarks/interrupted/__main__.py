"""`python -m benchmarks.interrupted [--requests 2000] [--minutes 5] [--seed N] [--short]`: nothing accepted is lost.

Requests of 1 KiB to 50 MiB over 40 models go to an asynchronous endpoint that starts at zero instances, while the
endpoint, its worker, its instances and the process that they are forked from get SIGKILL. It ends with 1 if an accepted
request has not exactly its own right result or failure, if no message came of its end, or if anything is left behind.
"""

import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.interrupted.running import Plan, run

SHORT = Plan(requests=60, models=6, lasts_s=12.0, largest=1024 * 1024, kills_every_s=(1.5, 3.0))


def main() -> None:
    parser = command("interrupted", __doc__)
    parser.add_argument("--requests", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--seed", type=int, default=None, help="of what is tried; what happens depends on the machine")
    parser.add_argument("--short", action="store_true", help="60 small requests in 12 s")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    plan = SHORT if arguments.short else Plan()
    if arguments.requests is not None:
        plan = replace(plan, requests=arguments.requests)
    if arguments.minutes is not None:
        plan = replace(plan, lasts_s=60.0 * arguments.minutes)
    console = Console(width=160)
    console.print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="interrupted-") as folder:
        done = run(Path(folder), plan, seed)
    figures = {
        "seed": seed,
        "accepted": len(done.asked.accepted),
        "kills": done.kills,
        "calls repeated": done.repeated,
        "messages lost in memory": done.unheard,
        "emptied in s": round(done.emptied_s, 1),
        "faults": done.faults,
    }
    for name, value in figures.items():
        console.print(f"{name}: {value if name != 'faults' else len(done.faults)}", markup=False)
    console.print("\n".join(done.faults[:20]), markup=False)
    keep(arguments.results, "interrupted", figures)
    sys.exit(bool(done.faults))


if __name__ == "__main__":
    main()

"""`python -m benchmarks.standby [--faults 60] [--seed N] [--short]`: a control and its standby under faults.

Two controls have one PostgreSQL database and one fake cluster; two routers serve callers by the instances of that
cluster, and another caller makes models. The control that serves is killed, frozen, or cut off from its database, from
its routers or from both, and comes back. It ends with 1 if an answer is wrong, a call or an accepted model is lost, a
row is committed by a control that has lost its lease, an instance is started anew, or a takeover takes too long: it is
judged by looks, four a second, until the standby has the lease, and by the processor time until it serves.
"""

import json
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.routers.callers import ENDPOINT, Callers, client_of
from benchmarks.routers.router_stand import RouterStand
from benchmarks.routers.shop import RoutersPlan, deploy, model
from benchmarks.standby.control_pair import NAMES, ControlPair, pair_of_controls
from benchmarks.standby.drill_faults import DrillKind, PairFaults, kinds_of, until
from benchmarks.standby.kept_writes import KeptWrites
from benchmarks.standby.late_writes import WriteWatch

PLAN = RoutersPlan(models=24, instances=2, threads=4)
PAUSE_S = 0.1
"""Of a caller, between two calls."""
ROUTERS = 2


def main() -> None:
    parser = command("standby", __doc__)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=None, help="of the order of the faults")
    parser.add_argument("--short", action="store_true", help="one fault of each kind")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    console = Console(width=160)
    console.print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="standby-") as folder:
        figures = run(Path(folder), len(DrillKind) if arguments.short else arguments.faults, seed)
    for name, value in figures.items():
        console.print(f"{name}: {value}", markup=False)
    keep(arguments.results, "standby", figures)
    sys.exit(bool(figures["faults"]))


def run(folder: Path, faults: int, seed: int) -> dict[str, object]:
    """The figures of so many faults. Raises TimeoutError if the pair never comes back."""
    dice = random.Random(seed)
    answers = {f"{number}.tar": float(number) for number in range(1, PLAN.models + 1)}
    with pair_of_controls(folder) as pair, ExitStack() as ending:
        watch = _begun(pair, answers)
        routers = [RouterStand(pair.for_routers, folder / f"router-{number}.log") for number in range(ROUTERS)]
        for router in routers:
            ending.callback(router.stop)
            router.start()
        callers = Callers([router.url for router in routers], answers, PLAN.threads, seed, PAUSE_S)
        _call_each(routers[0].url, answers)
        instances, began_s = _instances(pair), time.monotonic()
        writes = KeptWrites(pair.for_callers)
        faulty = PairFaults(pair, watch, writes, dice)
        callers.start()
        try:
            for kind in kinds_of(faults, dice):
                faulty.strike(kind)
        finally:
            callers.stop()
            writes.stop()
        took_s = time.monotonic() - began_s
        wrong = faulty.struck.wrong + _judged(pair, watch, writes, callers)
        wrong += ["an instance was started anew"] if _instances(pair) != instances else []
        for router in routers:
            router.stop()
        ledger, rows = _requests(pair), watch.rows_written()
        for one in pair.controls.values():
            one.stand.stop()
        wrong += [f"process {pid} is left" for pid in pair.processes_left()]
    called, struck = callers.called, faulty.struck
    return {
        "seed": seed,
        "minutes": round(took_s / 60, 1),
        "faults of each kind": {str(kind): count for kind, count in struck.kinds.items()},
        "answers": called.right,
        "called again after a connection broke": called.moved,
        "slowest answer in s": round(called.slowest_s, 1),
        "models accepted": len(writes.accepted.names),
        "calls for them that were made again": writes.accepted.asked_again,
        "takeovers": len(struck.took_s),
        "median and longest takeover in s": [round(median(struck.took_s), 1), round(max(struck.took_s), 1)],
        "most looks until the lease was taken": {str(kind): max(looks) for kind, looks in struck.looks.items()},
        "most processor time until it served, in s": round(max(struck.start_cpu_s), 1),
        "rows committed": rows,
        "in the ledger": ledger,
        "faults": wrong[:20],
    }


def _begun(pair: ControlPair, answers: dict[str, float]) -> WriteWatch:
    """Start both controls, the second as the standby of the first."""
    bucket = pair.store.bucket("benchmark")
    for name, number in answers.items():
        (bucket / name).write_bytes(model(number))
    first, second = (pair.controls[name] for name in NAMES)
    first.stand.start()
    deploy(first.stand, PLAN)
    watch = WriteWatch(pair.url, first.name)
    second.stand.start()
    until(second.times_stood_by, "the second control stands by")
    return watch


def _call_each(router: str, answers: dict[str, float]) -> None:
    """Each model once: whatever is tried or imported for its first load is over then."""
    client = client_of(router)
    for name in answers:
        client.invoke_endpoint(EndpointName=ENDPOINT, TargetModel=name, ContentType="text/csv", Body="1")


def _judged(pair: ControlPair, watch: WriteWatch, writes: KeptWrites, callers: Callers) -> list[str]:
    """What is wrong with answers, models and commits. No instance ends here, so no call may break."""
    called = callers.called
    wrong = [*called.faults, *writes.accepted.faults]
    if called.broken_at_s or called.turned_away_at_s:
        wrong.append(f"{len(called.broken_at_s)} calls broke, and {len(called.turned_away_at_s)} were turned away")
    wrong += [f"the model {name} was accepted and is not there" for name in writes.missing()]
    return wrong + [f"{one.control} wrote {one.place} while {one.holder} had the lease" for one in watch.late()]


def _instances(pair: ControlPair) -> set[str]:
    """The incarnations of the endpoint's instances."""
    (one,) = [one for one in json.loads(_page(pair, "endpoints"))["endpoints"] if one["name"] == ENDPOINT]
    return {instance["id"] for variant in one["variants"] for instance in variant["instances"]}


def _requests(pair: ControlPair) -> int:
    """The requests in the ledger."""
    return sum(one["requests"] for one in json.loads(_page(pair, f"costs?endpoint={ENDPOINT}"))["variants"])


def _page(pair: ControlPair, name: str) -> bytes:
    with urlopen(f"{pair.for_callers.url}/_torpor/{name}", timeout=30) as answer:
        return bytes(answer.read())


if __name__ == "__main__":
    main()

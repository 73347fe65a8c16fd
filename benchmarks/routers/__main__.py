"""`python -m benchmarks.routers [--minutes 10] [--seed N] [--short] [--one-port] [--database URL]`: kills.

Four instances with room for about half of 300 models serve callers of two routers, whose calls follow Zipf's law, while
a router, the control or an instance gets SIGKILL every few seconds. The routers have ports of their own, or share the
endpoint's (`--one-port`). It ends with 1 if an answer is wrong, if a call is
lost that was not in the process which was killed, if requests are missing in the ledger, or if anything is left behind.
"""

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.request import urlopen

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.interrupted.stand import Stand
from benchmarks.routers.callers import ENDPOINT, Called, Callers
from benchmarks.routers.router_stand import RouterBeside, RouterStand
from benchmarks.routers.shop import RoutersPlan, deploy, model

ROUTERS = 2
SOON_S = 3.0
"""A call that was in a killed process fails so soon after the kill."""
UNREPORTED_S = 1.5
"""A router that is killed loses the rows of its last moments: it reports warm requests once a second."""


SHORT = RoutersPlan(models=20, instances=2, threads=3, lasts_s=25.0, kills_every_s=(4.0, 6.0))


def main() -> None:
    parser = command("routers", __doc__)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--seed", type=int, default=None, help="of what is tried; what happens depends on the machine")
    parser.add_argument("--short", action="store_true", help="20 models on 2 instances for 25 s")
    parser.add_argument("--one-port", action="store_true", help="routers and control answer at one port")
    parser.add_argument("--database", default=None, help="an empty PostgreSQL database for the control's records")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    plan = SHORT if arguments.short else RoutersPlan()
    if arguments.minutes is not None:
        plan = replace(plan, lasts_s=60.0 * arguments.minutes)
    console = Console(width=160)
    console.print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="routers-") as folder:
        figures = run(Path(folder), plan, seed, arguments.database, one_port=arguments.one_port)
    for name, value in figures.items():
        console.print(f"{name}: {value}", markup=False)
    keep(arguments.results, "routers", figures)
    sys.exit(bool(figures["faults"]))


def run(
    folder: Path, plan: RoutersPlan, seed: int, database: str | None = None, *, one_port: bool = False
) -> dict[str, object]:
    options = [] if database is None else [f"--database={database}"]
    options += [f"--routers={ROUTERS}"] if one_port else []
    dice = random.Random(seed)
    answers = {f"{number}.tar": float(number) for number in range(1, plan.models + 1)}
    with Stand(folder, *options) as stand:
        bucket = stand.bucket("benchmark")
        for name, number in answers.items():
            (bucket / name).write_bytes(model(number))
        deploy(stand, plan)
        routers: list[RouterStand | RouterBeside] = [
            RouterBeside(stand, number + 1) if one_port else RouterStand(stand, folder / f"router-{number}.log")
            for number in range(ROUTERS)
        ]
        for router in routers:
            router.start()
        callers = Callers(sorted({router.url for router in routers}), answers, plan.threads, seed)
        began_s = time.monotonic()
        callers.start()
        killed = _kill(stand, routers, dice, plan, one_port)
        time.sleep(SOON_S)
        callers.stop()
        took_s = time.monotonic() - began_s
        for router in routers:
            router.stop()
        ledger, rate_hz = _requests(stand), callers.called.right / took_s
        left = _left(stand)
    faults = [*_judged(callers.called, killed, plan), *left]
    missing = callers.called.right - ledger
    if missing > killed.unreported_s * rate_hz + 1:
        faults.append(f"{missing} requests are missing in the ledger")
    called = callers.called
    return {
        "seed": seed,
        "answers": called.right,
        "answers a second": round(rate_hz, 1),
        "kills": dict(killed.kills),
        "called again after a connection broke": called.moved,
        "in a killed instance or control": len(called.broken_at_s),
        "held by a router that ended with the control": len(called.turned_away_at_s),
        "slowest in s": round(called.slowest_s, 1),
        "in the ledger": ledger,
        "faults": faults[:20],
    }


@dataclass
class KillsOfARun:
    """What was killed, when instances ended, when routers ended with the control, and for how long nobody reported."""

    kills: Counter[str] = field(default_factory=Counter)
    instances_at_s: list[float] = field(default_factory=list)
    routers_at_s: list[float] = field(default_factory=list)
    unreported_s: float = 0.0


def _kill(
    stand: Stand,
    routers: Sequence[RouterStand | RouterBeside],
    dice: random.Random,
    plan: RoutersPlan,
    one_port: bool,
) -> KillsOfARun:
    """Kill until the time is over. Routers at one port end with the control that started them."""
    killed = KillsOfARun()
    until_s = time.monotonic() + plan.lasts_s
    while time.monotonic() < until_s:
        time.sleep(dice.uniform(*plan.kills_every_s))
        kind = dice.choice(["router", "control", "instance", "instance"])
        if kind == "router":
            router = dice.choice(routers)
            router.kill()
            killed.unreported_s += UNREPORTED_S
            time.sleep(dice.uniform(0.0, 2.0))
            router.start()
        elif kind == "control":
            stand.kill_endpoint()
            killed.instances_at_s.append(time.monotonic())
            if one_port:
                killed.routers_at_s.append(time.monotonic())
                killed.unreported_s += UNREPORTED_S
            time.sleep(dice.uniform(0.0, 2.0))
            stand.start()
        elif stand.kill_instance():
            killed.instances_at_s.append(time.monotonic())
        killed.kills[kind] += 1
    return killed


def _judged(called: Called, killed: KillsOfARun, plan: RoutersPlan) -> list[str]:
    """The faults of the callers' answers. A call may break with the instance that it is in, and no later; one that a
    router holds may be turned away as the router ends with the control, and at no other time."""
    faults, at_s = list(called.faults), killed.instances_at_s
    if late := _late(called.broken_at_s, at_s):
        faults.append(f"{late} calls broke though nothing had been killed")
    if late := _late(called.turned_away_at_s, killed.routers_at_s):
        faults.append(f"{late} calls were turned away though their router had not ended with the control")
    if len(called.turned_away_at_s) > len(killed.routers_at_s) * plan.threads:
        faults.append(f"{len(called.turned_away_at_s)} calls were turned away in {len(killed.routers_at_s)} kills")
    if len(called.broken_at_s) > 2 * len(at_s) * plan.threads:  # an instance ends a moment after the control
        faults.append(f"{len(called.broken_at_s)} calls broke in {len(at_s)} kills")
    return faults


def _late(found_s: Sequence[float], kills_s: Sequence[float]) -> int:
    """How many of the moments are not soon after a kill."""
    return sum(1 for one in found_s if not any(0 <= one - killed <= SOON_S for killed in kills_s))


def _left(stand: Stand) -> list[str]:
    stand.stop()
    return [f"process {pid} is left" for pid in stand.marked()]


def _requests(stand: Stand) -> int:
    """The requests in the ledger."""
    with urlopen(f"{stand.url}/_torpor/costs?endpoint={ENDPOINT}", timeout=30) as answer:
        return sum(one["requests"] for one in json.load(answer)["variants"])


if __name__ == "__main__":
    main()

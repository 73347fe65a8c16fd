"""`python -m benchmarks.placement [--short]`: what it costs to choose an instance, and a million models on a thousand
instances.

The second part plays requests through the live placement, with one router and with eight, each of which counts the
requests in flight of its own alone. Each instance is a cache of the live LRU. Requests take equally long, and loads no
time. After `make compiled` both parts run with the compiled decisions too. Times are processor time of one core.
Nothing asserts a time.
"""

import json
import os
import random
import resource
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from subprocess import PIPE, run
from typing import Any

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.policy_trace import Cache, Trace, zipf
from benchmarks.simulator import COMPILED, compiled_of_these
from benchmarks.tables import table
from torpor_container.core.eviction import LRU, Policy
from torpor_endpoint.core.placement import BUSY_MIN, Placement
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance

INSTANCES = (1, 2, 10, 100, 1_000)
KNOWN = 5_000
"""The models of the uniform traffic: their owners are all remembered."""
BUSY = 12
"""The requests in flight for each instance under the hot model's traffic."""
ROOM = 100
"""An instance holds this many models of mean size."""
LIMIT = 4
"""An instance serves this many requests at once, and half of them are in flight on average."""


@dataclass(frozen=True)
class FleetSize:
    models: int = 1_000_000
    instances: int = 1_000
    requests: int = 1_500_000
    counted: int = 600_000  # the last ones, when the caches are full
    picks: int = 50_000
    rounds: int = 3


SHORT = FleetSize(models=2_000, instances=10, requests=4_000, counted=2_000, picks=1_000, rounds=1)


@dataclass(frozen=True)
class Fleet:
    """How many routers share the instances, and below how many requests in flight of its own none finds one busy."""

    routers: int
    busy_min: int


FLEETS = (Fleet(1, BUSY_MIN), Fleet(8, BUSY_MIN), Fleet(1, LIMIT), Fleet(8, LIMIT // 8 or 1))
EXPONENTS = (0.8, 1.0)


def main() -> None:
    parser = command("placement", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    parser.add_argument("--answer", type=int, metavar="SEED", help="measure in this process, and print JSON")
    wanted = parser.parse_args()
    size = SHORT if wanted.short else FleetSize()
    if wanted.answer is not None:
        json.dump({"picks": picks(size), "fleets": fleets(size, wanted.answer)}, sys.stdout)
        return
    results = measured(size, wanted.short)
    show(results)
    keep(wanted.results, "placement", results)


def measured(size: FleetSize, short: bool) -> dict[str, Any]:
    """Plain and compiled take turns, and each round has a seed of its own."""
    sides = {"plain": None, **({"compiled": COMPILED} if compiled_of_these() else {})}
    load, rounds = os.getloadavg()[0], range(1, size.rounds + 1)
    answers: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    for seed in rounds:
        for side, path in sides.items():
            around = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
            arguments = ["--answer", str(seed), *(["--short"] if short else [])]
            answer = run(
                [sys.executable, "-m", "benchmarks.placement", *arguments], env=around, stdout=PIPE, check=True
            )
            answers[side].append(json.loads(answer.stdout))
    return {
        "machine": {"cores": os.cpu_count(), "load": load, "python": sys.version.split()[0]},
        "size": asdict(size),
        "picks": {side: medians([one["picks"] for one in each]) for side, each in answers.items()},
        "fleets": {side: medians([one["fleets"] for one in each]) for side, each in answers.items()},
    }


def medians(rounds: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Row by row, the medians of the figures; what is not a float says which row it is."""
    return [
        {
            name: median(row[name] for row in rows) if isinstance(value, float) else value
            for name, value in rows[0].items()
        }
        for rows in zip(*rounds, strict=True)
    ]


def show(results: dict[str, Any]) -> None:
    console = Console(width=140)
    size = results["size"]
    console.print(f"{results['machine']}, medians of {size['rounds']} rounds")
    for side, rows in results["picks"].items():
        console.print(table(f"Nanoseconds to choose ({side})", rows))
    for side, rows in results["fleets"].items():
        title = f"{size['models']:,} models, {size['instances']:,} instances, {size['requests']:,} requests ({side})"
        console.print(table(title, rows))


# -- one choice ----------------------------------------------------------------------------------------------------
def picks(size: FleetSize) -> list[dict[str, Any]]:
    """Nanoseconds a choice, by number of instances, with the loop around it."""
    return [{"instances": instances, **_picks(instances, size.picks)} for instances in INSTANCES]


def _picks(instances: int, count: int) -> dict[str, float]:
    dice = random.Random(1)
    idle, _ = _router(instances, BUSY_MIN)
    uniform = [f"models/{dice.randrange(KNOWN)}.tar.gz" for _ in range(count)]
    for model in set(uniform):
        idle.pick(model)
    return {
        "not seen before": _ns(idle.pick, [f"models/new-{number}.tar.gz" for number in range(count // 10)]),
        "seen, of many": _ns(idle.pick, uniform),
        "seen, alone": _ns(idle.pick, ["models/0.tar.gz"] * count),
        "one for all instances, counted": _busy_ns(instances, count),
    }


def _router(instances: int, busy_min: int) -> tuple[Placement[PlacedInstance], list[PlacedInstance]]:
    """A router, and the instances as it sees them, by slot number."""
    router: Placement[PlacedInstance] = Placement(busy_min=busy_min)
    seen = []
    for number in range(instances):
        instance = PlacedInstance()
        instance.in_flight, instance.fleet = 0, FleetLoad()
        router.offer(number, instance)
        seen.append(instance)
    return router, seen


def _ns(pick: Callable[[str], PlacedInstance], models: list[str]) -> float:
    began_ns = time.process_time_ns()
    for model in models:
        pick(model)
    return (time.process_time_ns() - began_ns) / len(models)


def _busy_ns(instances: int, count: int) -> float:
    """With BUSY requests in flight for each instance, all for one model. They end in the order in which they began, and
    what it takes to count them is in the figure."""
    router, _ = _router(instances, BUSY_MIN)
    under_way: deque[PlacedInstance] = deque()

    def ask() -> None:
        if len(under_way) == BUSY * instances:
            under_way.popleft().answered()
        one = router.pick("hot")
        one.took()
        under_way.append(one)

    for _ in range(BUSY * instances):
        ask()
    began_ns = time.process_time_ns()
    for _ in range(count):
        ask()
    return (time.process_time_ns() - began_ns) / count


# -- a fleet -------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class Instance:
    """An instance as it is: what it holds, and all its requests in flight."""

    policy: Policy
    cache: Cache
    in_flight: int = 0
    requests: int = 0  # those that are counted

    @classmethod
    def empty(cls, room_bytes: int) -> "Instance":
        policy = LRU()
        return cls(policy, Cache(policy, room_bytes, 1.0))

    def has(self, model: str) -> bool:
        """Whether the model is in memory, which is a use of it."""
        if model not in self.cache.resident:
            return False
        self.policy.touched(model)
        return True

    def load(self, model: str, size_bytes: int) -> None:
        self.cache.make_room(size_bytes)
        self.cache.enter(model, size_bytes)


def fleets(size: FleetSize, seed: int) -> list[dict[str, Any]]:
    rows = []
    for exponent in EXPONENTS:
        trace = zipf(size.requests, size.models, seed, exponent)
        for fleet in FLEETS:
            rows.append({"exponent": str(exponent), **asdict(fleet), **_play(trace, fleet, size, seed)})
    return rows


def _play(trace: Trace, fleet: Fleet, size: FleetSize, seed: int) -> dict[str, float]:
    room_bytes = ROOM * sum(trace.sizes.values()) // len(trace.sizes)
    instances = [Instance.empty(room_bytes) for _ in range(size.instances)]
    picks: list[Callable[[str], PlacedInstance]] = []
    seen_as: dict[PlacedInstance, Instance] = {}
    for _ in range(fleet.routers):
        router, seen = _router(size.instances, fleet.busy_min)
        picks.append(router.pick)
        seen_as |= zip(seen, instances, strict=True)
    asked = random.Random(seed).choices(picks, k=size.requests)
    under_way: deque[PlacedInstance] = deque(maxlen=LIMIT * size.instances // 2)
    first, hits, over, most = size.requests - size.counted, 0, 0, 0
    began_s = time.process_time()
    for number, (model, pick) in enumerate(zip(trace.requests, asked, strict=True)):
        if len(under_way) == under_way.maxlen:
            ended = under_way[0]
            ended.answered()
            seen_as[ended].in_flight -= 1
        one = pick(model)
        one.took()
        under_way.append(one)
        instance = seen_as[one]
        hit = instance.has(model)
        if not hit and (size_bytes := trace.sizes[model]) <= room_bytes:
            instance.load(model, size_bytes)
        if number >= first:
            hits += hit
            over += instance.in_flight >= LIMIT
            most = max(most, instance.in_flight + 1)
            instance.requests += 1
        instance.in_flight += 1
    took_s = time.process_time() - began_s
    copies = Counter(model for instance in instances for model in instance.cache.resident)
    return {
        "hit ratio": hits / size.counted,
        "copies": copies.total() / len(copies),
        "over %": 100 * over / size.counted,
        "most in flight": float(most),
        "busiest / mean requests": max(one.requests for one in instances) * size.instances / size.counted,
        "requests a second": size.requests / took_s,
        "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()

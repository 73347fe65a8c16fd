"""One run: requests are sent while processes are killed; then the queue empties, and everything is compared."""

import json
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from urllib.error import URLError
from urllib.request import urlopen

from benchmarks.interrupted.asking import ENDPOINT, LARGEST, Asked, ask_all, deploy, prepared
from benchmarks.interrupted.judging import faults
from benchmarks.interrupted.killing import Killer, Subscriber
from benchmarks.interrupted.stand import Stand

EMPTY_WITHIN_S = 600.0
SENT_WITHIN_S = 60.0
"""A notice that its topic does not have by then is a fault."""


@dataclass(frozen=True)
class Plan:
    """The size of a run. Seconds, bytes."""

    requests: int = 2000
    models: int = 40
    lasts_s: float = 300.0
    largest: int = LARGEST
    kills_every_s: tuple[float, float] = (4.0, 12.0)


@dataclass(frozen=True)
class Interrupted:
    """What a run came to."""

    asked: Asked
    kills: dict[str, int]
    repeated: int  # calls that were repeated, as their answer did not come
    unheard: int  # messages that were lost with the memory of a killed worker
    emptied_s: float  # from the last request to the empty queue
    faults: list[str]


def run(folder: Path, plan: Plan, seed: int) -> Interrupted:
    random = Random(seed)
    with Stand(folder) as stand:
        subscriber = Subscriber(stand)
        asks = prepared(stand, plan.models, plan.requests, plan.largest, random, folder / "code")
        deploy(stand, subscriber.topic)
        killer = Killer(stand, random, plan.kills_every_s)
        subscriber.start()
        killer.start()
        try:
            asked = ask_all(stand, asks, plan.lasts_s)
        finally:
            killer.stop()
        began_s = time.monotonic()
        until_empty(stand)
        emptied_s = time.monotonic() - began_s
        until_sent(stand)
        time.sleep(1.0)  # for the subscriber to read the last messages
        subscriber.stop()
        stand.stop()
        found = faults(stand, asks, asked, killer.at_s, subscriber.heard)
    repeated = sum(tries - 1 for tries in asked.tries.values())
    unheard = sum(id not in subscriber.heard for id in asked.accepted)
    return Interrupted(asked, dict(killer.done), repeated, unheard, emptied_s, found)


def until_empty(stand: Stand) -> None:
    """Wait until no request waits or runs. Raises TimeoutError."""
    deadline_s = time.monotonic() + EMPTY_WITHIN_S
    while time.monotonic() < deadline_s:
        with suppress(URLError, OSError):  # it starts
            if not any(_in(stand, state) for state in ("Queued", "Running")):
                return
        time.sleep(0.2)
    raise TimeoutError(f"requests wait after {EMPTY_WITHIN_S:g} s")


def until_sent(stand: Stand) -> None:
    """Wait until the topic has every notice, or for so long that it should have them."""
    deadline_s = time.monotonic() + SENT_WITHIN_S
    with closing(sqlite3.connect(stand.data_dir / "async.sqlite")) as database:
        while time.monotonic() < deadline_s:
            ((unsent,),) = database.execute("SELECT count(*) FROM requests WHERE notice IS NOT NULL")
            if not unsent:
                return
            time.sleep(0.2)


def _in(stand: Stand, state: str) -> bool:
    """Whether a request is in this state."""
    page = f"{stand.url}/_torpor/async?endpoint={ENDPOINT}&state={state}&limit=1"
    with urlopen(page, timeout=30.0) as answer:
        return bool(json.load(answer)["requests"])

"""Finds leaks: reads what an endpoint holds while everything sleeps, and reports what has grown."""

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sleeping import rss_mib
from benchmarks.soak.stage import Stage

GROWTH_MIB = 8.0
"""By how much the endpoint's memory may be more at the end than in the middle: metrics and the ledger fill up yet."""


@dataclass(frozen=True)
class Leftovers:
    """The readings of one moment, at which every endpoint sleeps and no caller is connected."""

    when: str
    at_s: float
    processes: int  # besides the endpoint's own two and the zygotes
    descriptors: int  # of the worker
    kinds: dict[str, int]  # of those, but for the databases', one for each thread, and for a socket to each zygote
    sockets: int  # of instances, in the folder for them
    temporary: list[str]  # files and folders, whoever made them
    unfinished: int  # downloads
    rss_mib: float  # of the endpoint's own processes
    logs: int


def seen(stage: Stage, when: str, at_s: float) -> Leftovers:
    own = stage.own()
    descriptors, zygotes = _descriptors(own[-1]), stage.zygotes()
    kinds = Counter({kind: number for kind, number in descriptors.items() if ".sqlite" not in kind})
    kinds["socket"] -= len(zygotes)  # one that has imported more comes with the first model that needs it
    return Leftovers(
        when,
        at_s,
        len(set(stage.marked()) - {*own, *zygotes}),
        descriptors.total(),
        dict(kinds),
        sum(1 for _ in (stage.data_dir / "run").glob("i-*")),
        sorted(path.name for path in stage.temporary.rglob("*")),
        sum(1 for _ in (stage.data_dir / "instances").glob("**/.unfinished/*")),
        rss_mib(own),
        stage.started(),
    )


def leaks(looks: list[Leftovers]) -> list[str]:
    """The leaks. The first reading is what the last one is compared with."""
    first, middle, last = looks[0], looks[len(looks) // 2], looks[-1]
    found = [
        f"{name}: {getattr(look, name)} {look.when}"
        for look in looks
        for name in ("processes", "sockets", "temporary", "unfinished")
        if getattr(look, name)
    ]
    if more := Counter(last.kinds) - Counter(first.kinds):
        found.append(f"descriptors: {dict(more)} more than at first")
    if last.rss_mib > middle.rss_mib + GROWTH_MIB:
        found.append(f"memory: {last.rss_mib:.1f} MiB at the end, {middle.rss_mib:.1f} MiB in the middle")
    return found


def _descriptors(pid: int) -> Counter[str]:
    """Open descriptors by their kind, without numbers."""
    kinds: Counter[str] = Counter()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            kinds[os.readlink(entry).partition(":[")[0]] += 1
    return kinds

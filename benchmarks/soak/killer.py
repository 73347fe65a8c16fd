"""Kills instances and zygotes without warning, and records from when until when requests may be lost."""

import asyncio
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from random import Random

from benchmarks.soak.answers import Kill
from benchmarks.soak.stage import KINDS, Stage
from benchmarks.soak.truth import Truth


class Killer:
    """Kills an instance now and then, and less often the zygotes with everything that they forked."""

    def __init__(self, stage: Stage, truth: Truth, random: Random) -> None:
        self._stage = stage
        self._truth = truth
        self._random = random

    async def run(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            await asyncio.sleep(self._random.uniform(1.0, 6.0))
            if self._random.random() < 0.15:
                await self._kill(None, self._stage.zygotes())
            else:
                kind = self._random.choice(KINDS)
                await self._kill(kind.name, self._stage.instances(kind.name)[:1])

    async def _kill(self, endpoint: str | None, victims: list[int]) -> None:
        if not victims:
            return  # it sleeps
        self._truth.deeds["instances killed" if endpoint else "zygotes killed"] += 1
        followers = victims if endpoint else [*victims, *self._stage.forked()]
        with self._killing(endpoint), _held(followers) as held:
            for pid in victims:
                with suppress(ProcessLookupError, KeyError):
                    signal.pidfd_send_signal(held[pid], signal.SIGKILL)
            await asyncio.to_thread(_wait_until_gone, held.values())

    @contextmanager
    def _killing(self, endpoint: str | None) -> Iterator[None]:
        """Record that requests may be lost from now until the processes are gone."""
        kills = self._truth.kills
        kills.append(Kill(endpoint, time.monotonic()))
        yield
        kills[-1] = replace(kills[-1], ended_s=time.monotonic())


@contextmanager
def _held(pids: list[int]) -> Iterator[dict[int, int]]:
    """A descriptor for each of these processes, which stays valid when a number is reused."""
    held: dict[int, int] = {}
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                held[pid] = os.pidfd_open(pid)
        yield held
    finally:
        for descriptor in held.values():
            os.close(descriptor)


def _wait_until_gone(held: Iterable[int]) -> None:
    """A process's descriptor can be read from once the last of its threads has ended."""
    for descriptor in held:
        select.select([descriptor], [], [])

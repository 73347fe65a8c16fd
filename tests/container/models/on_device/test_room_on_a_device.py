"""A device with room for N models serves N models: sizes are the models' own, whatever else takes memory meanwhile."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.container.helpers.format_models import Trained, save_onnx
from torpor_container.core.eviction import Nobody, Policy, policy
from torpor_container.core.residency import Decision, Residency
from torpor_container.devices.simulated_device import MIB, SimulatedDevice, TakenBytes
from torpor_container.errors import LoadFault
from torpor_container.formats.on_device.onnx_on_device import OnnxOnDevice
from torpor_container.formats.onnx import SessionCall
from torpor_container.models.on_device.device_tier import DeviceTier, Guest
from torpor_container.processes.threads import Threads

KEPT_BYTES = 628 * MIB
SIZE_BYTES = (16 + 2 * 66) * MIB + 64
"""Of each model: weights, the workspaces of its session and of the one thread, and its arena for one row."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = np.random.default_rng(7).normal(size=(50, 4)).astype(np.float32)
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    save_onnx(Trained(rows, rows @ np.arange(1.0, 5.0, dtype=np.float32)), path)
    return path


class Story:
    """A tier with room for so many models, and what it decided."""

    def __init__(self, file: Path, count: int, room_for: float, rule: Policy | None = None) -> None:
        self.device = SimulatedDevice(taken=TakenBytes(weights=lambda own_bytes: 16 * MIB if own_bytes > 200 else 0))
        self.decisions: list[Decision] = []
        budget_bytes = KEPT_BYTES + int(room_for * SIZE_BYTES)
        residency = Residency(budget_bytes, rule or policy("lru"), 1000, self.decisions.append)
        ticks = itertools.count()
        self.thread = Threads(1, "device")
        self.tier = DeviceTier(self.device, residency, self.thread, lambda: next(ticks), lambda: next(ticks))
        self.forms = [OnnxOnDevice(file, self.device) for _ in range(count)]
        for number, form in enumerate(self.forms):
            self.tier.joined(f"m{number}", Guest(form, f"m{number}", 16 * MIB))

    async def called(self, number: int, rows: int) -> None:
        form = self.forms[number]
        async with self.tier.lend(f"m{number}"):
            session = form.over(str)
            feed = {"X": np.zeros((rows, 4), np.float32)}
            await self.thread.run(session, SessionCall(feed, ["variable"]))

    def count(self, action: str) -> int:
        return sum(one.action == action for one in self.decisions)

    def sizes(self) -> set[int]:
        return {one.size_bytes for one in self.decisions if one.action == "loaded"}


def told(
    file: Path, count: int, room_for: float, live: Callable[[Story], Awaitable[Any]], rule: Policy | None = None
) -> Story:
    async def run() -> Story:
        story = Story(file, count, room_for, rule)
        await live(story)
        await story.tier.close()
        story.thread.close()
        return story

    return asyncio.run(run())


async def crowd(story: Story, rounds: int = 6) -> None:
    """All models are called side by side, again and again, with few rows and with many."""
    for turn in range(rounds):
        await asyncio.gather(*(story.called(number, 1 + 900 * (turn % 2)) for number in range(len(story.forms))))


def test_ten_models_that_fit_stay_and_answer(file: Path) -> None:
    story = told(file, 10, 10.2, crowd)
    assert (story.count("refuse"), story.count("evict"), story.count("loaded")) == (0, 0, 10)
    assert story.sizes() == {SIZE_BYTES}
    assert story.tier.status()["kept_bytes"] == KEPT_BYTES


def test_more_models_than_fit_all_answer_in_turn_and_sizes_stay_what_they_are(file: Path) -> None:
    story = told(file, 15, 10.2, crowd)
    assert story.count("refuse") == 0
    assert story.sizes() == {SIZE_BYTES}
    assert story.device.own_bytes() <= story.tier.status()["budget_bytes"] + 10 * 900 * 4 * 4 * 4


def test_a_budget_below_what_the_libraries_keep_refuses_and_says_what_keeps_it(file: Path) -> None:
    async def one_call(story: Story) -> None:
        with pytest.raises(LoadFault, match="CUDA and its libraries keep 658,505,728 bytes of the instance's"):
            await story.called(0, 1)

    assert told(file, 1, 0.9, one_call).device.held == 0


def test_a_device_that_others_fill_makes_idle_models_leave_one_by_one_and_nothing_of_a_failed_entry_stays(
    file: Path,
) -> None:
    async def meet(story: Story) -> None:
        for number in range(4):
            await story.called(number, 1)
        story.device.others_bytes = story.device.total_bytes - story.device.own_bytes() - 100 * MIB
        await story.called(4, 1)  # its first prediction finds no room until the least recent one has left

    story = told(file, 5, 10.2, meet)
    assert (story.count("evict"), story.device.held) == (1, 4)


def test_what_arenas_took_for_large_requests_is_given_back_before_a_load_is_refused(file: Path) -> None:
    async def peaks(story: Story) -> None:
        for number in range(2):
            await story.called(number, 1_000_000)  # 61 MiB of an arena each
        await story.called(2, 1)

    story = told(file, 3, 3.1, peaks, Nobody())
    assert (story.count("refuse"), story.device.held) == (0, 3)

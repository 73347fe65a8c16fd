"""A device with room for N models serves N models: sizes are the models' own, whatever else takes memory meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.container.helpers.format_models import Trained, save_onnx
from tests.container.helpers.story_on_device import KEPT_BYTES, SIZE_BYTES, StoryOnDevice
from torpor_container.core.eviction import Nobody, Policy
from torpor_container.devices.simulated_device import MIB
from torpor_container.errors import LoadFault
from torpor_container.mapped.mapped_shares import HOT_CALLS


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = np.random.default_rng(7).normal(size=(50, 4)).astype(np.float32)
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    save_onnx(Trained(rows, rows @ np.arange(1.0, 5.0, dtype=np.float32)), path)
    return path


def told(
    file: Path, count: int, room_for: float, live: Callable[[StoryOnDevice], Awaitable[Any]], rule: Policy | None = None
) -> StoryOnDevice:
    async def run() -> StoryOnDevice:
        story = StoryOnDevice(file, count, room_for, rule)
        await live(story)
        await story.tier.close()
        story.thread.close()
        return story

    return asyncio.run(run())


async def crowd(story: StoryOnDevice, rounds: int = 6) -> None:
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
    async def one_call(story: StoryOnDevice) -> None:
        with pytest.raises(LoadFault, match="CUDA and its libraries keep 658,505,728 bytes of the instance's"):
            await story.called(0, 1)

    assert told(file, 1, 0.9, one_call).device.held == 0


def test_a_device_that_others_fill_makes_idle_models_leave_one_by_one_and_nothing_of_a_failed_entry_stays(
    file: Path,
) -> None:
    async def meet(story: StoryOnDevice) -> None:
        for number in range(4):
            await story.called(number, 1)
        story.device.others_bytes = story.device.total_bytes - story.device.own_bytes() - 100 * MIB
        await story.called(4, 1)  # its first prediction finds no room until the least recent one has left

    story = told(file, 5, 10.2, meet)
    assert (story.count("evict"), story.device.held) == (1, 4)


def test_what_arenas_took_for_large_requests_is_given_back_before_a_load_is_refused(file: Path) -> None:
    async def peaks(story: StoryOnDevice) -> None:
        for number in range(2):
            await story.called(number, 1_000_000)  # 61 MiB of an arena each
        await story.called(2, 1)

    story = told(file, 3, 3.1, peaks, Nobody())
    assert (story.count("refuse"), story.device.held) == (0, 3)


def test_a_model_is_bound_once_it_is_hot_until_it_leaves_and_its_size_stays_what_it_is(file: Path) -> None:
    bound = list[list[str]]()

    async def live(story: StoryOnDevice) -> None:
        await story.called(1, 1)
        for count in (HOT_CALLS, 2):  # the call by which it enters is no hit
            for _ in range(count):
                await story.called(0, 1)
            bound.append(story.tier.status()["bound_models"])
        await story.called(1, 1)
        assert await story.tier.make_room("m1")  # the one that was called less recently leaves
        await story.called(0, 1)
        bound.append(story.tier.status()["bound_models"])

    story = told(file, 2, 2.2, live)
    assert bound == [[], ["m0"], []]
    assert (story.sizes(), story.device.held) == ({SIZE_BYTES}, 2)

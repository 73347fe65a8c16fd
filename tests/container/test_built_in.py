"""The built-in workshop: models are measured until their size is known, and memory is given back once for many."""

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest
import xgboost

from torpor_container import built_in
from torpor_container.built_in import FLOOR_BYTES, BuiltInWorkshop
from torpor_container.effort import Effort
from torpor_container.formats import Conventions
from torpor_container.gauge import Gauge
from torpor_container.parent import Parent
from torpor_container.scripts import Scripts
from torpor_container.settings import Settings
from torpor_container.workshop import Loaded, Placed


def workshop() -> BuiltInWorkshop:
    settings, conventions = Settings.read({}), Conventions()
    return BuiltInWorkshop(settings, conventions, Scripts(settings, conventions, Parent(""), {}), lambda: 0.0)


def test_a_models_loads_are_measured_until_its_size_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(7).normal(size=(300, 3))
    xgboost.train({"nthread": 1}, xgboost.DMatrix(rows, rows[:, 0]), 50).save_model(tmp_path / "model.ubj")
    measured: list[int] = []

    def grown() -> int:
        measured.append(1)
        return 1_000_000 + len(measured)

    monkeypatch.setattr(Gauge, "grown", lambda gauge, by_malloc: grown)

    async def sizes() -> list[int]:
        shop = workshop()
        found = []
        for _ in range(4):
            loaded = await (await shop.recognise(Placed("m", "m-1", tmp_path))).load()
            found.append(loaded.size_bytes)
            await shop.unload(loaded.runner)
        await shop.close()
        return found

    assert asyncio.run(sizes()) == [1_000_001, 1_000_002, 1_000_002, 1_000_002]
    assert len(measured) == 2


def test_a_load_during_which_another_model_leaves_tells_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(7).normal(size=(300, 3))
    xgboost.train({"nthread": 1}, xgboost.DMatrix(rows, rows[:, 0]), 50).save_model(tmp_path / "model.ubj")
    loading, left = threading.Event(), threading.Event()
    left.set()

    def grown() -> int:
        loading.set()
        assert left.wait(10)
        return 77

    monkeypatch.setattr(Gauge, "grown", lambda gauge, by_malloc: grown)

    async def load(shop: BuiltInWorkshop, name: str) -> Loaded:
        return await (await shop.recognise(Placed(name, f"{name}-1", tmp_path))).load()

    async def sizes() -> tuple[int, int]:
        shop = workshop()
        leaver = await load(shop, "leaver")
        predicted_bytes = (await shop.recognise(Placed("comer", "comer-1", tmp_path))).predicted_bytes
        left.clear()
        loading.clear()
        coming = asyncio.create_task(load(shop, "comer"))
        assert await asyncio.to_thread(loading.wait, 10)
        await shop.unload(leaver.runner)
        left.set()
        comer = await coming
        await shop.close()
        return comer.size_bytes, predicted_bytes

    size_bytes, predicted_bytes = asyncio.run(sizes())
    assert size_bytes == predicted_bytes != max(77, FLOOR_BYTES)


def test_those_who_leave_while_memory_is_given_back_share_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    go_on = threading.Event()

    def give_back() -> None:
        given.append(1)
        assert go_on.wait(10)

    monkeypatch.setattr(built_in, "give_back", give_back)

    async def five_leave() -> None:
        shop = workshop()
        first = asyncio.create_task(shop.settle())
        while not given:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(shop.settle()) for _ in range(4)]
        await asyncio.sleep(0)
        go_on.set()
        used = await asyncio.gather(first, *others)
        assert len(set(used[1:])) == 1
        await shop.close()

    asyncio.run(five_leave())
    assert len(given) == 2


def test_a_script_whose_time_to_load_ends_while_it_is_measured_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inference.py").write_text("def model_fn(model_dir): ...")
    runner, measuring = Started(), threading.Event()

    async def start(scripts: Scripts, directory: Path, program: Path) -> tuple[Started, Effort]:
        return runner, Effort(0.0, 0.0)

    monkeypatch.setattr(Scripts, "start", start)
    monkeypatch.setattr(built_in, "_held_bytes", lambda runner: measuring.wait(10.0))

    async def story() -> None:
        shop = workshop()
        found = await shop.recognise(Placed("m", "m-1", tmp_path))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await found.load()
        assert runner.closed
        measuring.set()
        await shop.close()

    asyncio.run(story())


class Started:
    """A script in its process."""

    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True

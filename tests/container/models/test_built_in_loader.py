"""The built-in loader: models are measured until their size is known, and memory is given back once for many."""

import asyncio
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xgboost
from sklearn.dummy import DummyRegressor

from torpor_container.core.sizing import Prior
from torpor_container.core.trials import End
from torpor_container.formats import Conventions, available
from torpor_container.measuring.effort import Effort
from torpor_container.measuring.memory_gauge import MemoryGauge
from torpor_container.models.built_in_loader import BuiltInLoader
from torpor_container.models.in_process.in_process_loading import FLOOR_BYTES, priors
from torpor_container.models.loader import Loaded, Placed
from torpor_container.processes.memory import give_back
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.running.runners import Scripted
from torpor_container.running.scripts import Scripts, StartedScript
from torpor_container.settings import Settings
from torpor_container.trials.trial_process import TrialCandidate, TrialEnd, Trials

SETTINGS, CONVENTIONS = Settings.read({}), Conventions()
MEMORY = MemoryBudget(SETTINGS.memory_bytes)


def loader(
    scripts: Scripts | None = None,
    gauge: MemoryGauge | None = None,
    give_back: Callable[[], None] = give_back,
    clock: Callable[[], float] = lambda: 0.0,
    trials: Trials | None = None,
) -> BuiltInLoader:
    scripts = scripts or Scripts(SETTINGS, MEMORY, CONVENTIONS, ZygoteAccess(""), {})
    return BuiltInLoader(SETTINGS, MEMORY, CONVENTIONS, scripts, clock, gauge=gauge, give_back=give_back, trials=trials)


async def load(shop: BuiltInLoader, name: str, folder: Path) -> Loaded:
    return await (await shop.recognise(Placed(name, f"{name}-1", folder))).load()


class Told(MemoryGauge):
    """Each load takes the memory that the test names."""

    def __init__(self, grown: Callable[[], int]) -> None:
        super().__init__(lambda: 0.0)
        self._told = grown

    def grown(self, by_malloc: bool = False) -> Callable[[], int]:
        return self._told


def test_a_models_loads_are_measured_until_its_size_is_known(tmp_path: Path) -> None:
    rows = np.random.default_rng(7).normal(size=(300, 3))
    xgboost.train({"nthread": 1}, xgboost.DMatrix(rows, rows[:, 0]), 50).save_model(tmp_path / "model.ubj")
    measured: list[int] = []

    def grown() -> int:
        measured.append(1)
        return 1_000_000 + len(measured)

    async def sizes() -> list[int]:
        shop = loader(gauge=Told(grown))
        found = []
        for _ in range(4):
            loaded = await load(shop, "m", tmp_path)
            found.append(loaded.size_bytes)
            await shop.unload(loaded.runner)
        await shop.close()
        return found

    assert asyncio.run(sizes()) == [1_000_001, 1_000_002, 1_000_002, 1_000_002]
    assert len(measured) == 2


class SlowTrials(Trials):
    """Each trial takes two seconds by the clock, for so long of which it waits for libraries, and ends well."""

    def __init__(self, imports_s: float) -> None:
        self.now_s, self._imports_s = 0.0, imports_s
        super().__init__(MEMORY, 60.0, CONVENTIONS, ZygoteAccess(""), {})

    async def share(self, candidate: TrialCandidate, loaded: Callable[[], None] = lambda: None) -> TrialEnd:
        self.now_s += 2.0
        return TrialEnd(End.GOOD, imports_s=self._imports_s)


@pytest.mark.parametrize("imports_s", [0.0, 1.5])
def test_the_first_load_of_a_version_says_how_long_its_trial_took(tmp_path: Path, imports_s: float) -> None:
    """The instance has imported scikit-learn for another model."""
    for name, value in (("before", 0.0), ("m", 1.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.pkl").write_bytes(pickle.dumps(DummyRegressor().fit([[0.0]], [value])))

    async def waits() -> list[tuple[float, float]]:
        trials = SlowTrials(imports_s)
        shop = loader(clock=lambda: trials.now_s, trials=trials)
        await load(shop, "before", tmp_path / "before")
        loads = [await load(shop, "m", tmp_path / "m") for _ in range(2)]
        await shop.close()
        return [(one.once_s, one.imports_s) for one in loads]

    assert asyncio.run(waits()) == [(2.0 - imports_s, imports_s), (0.0, 0.0)]


def test_a_script_that_waited_for_its_packages_and_for_libraries_says_how_long(tmp_path: Path) -> None:
    (tmp_path / "inference.py").write_text("def model_fn(model_dir): ...")
    script = Started()
    script.tell.set()

    async def waits() -> tuple[float, float]:
        shop = loader(Starting(script, once_s=3.0, imports_s=2.0))
        loaded = await load(shop, "m", tmp_path)
        await shop.close()
        return loaded.once_s, loaded.imports_s

    assert asyncio.run(waits()) == (3.0, 2.0)


def test_a_load_during_the_unload_of_another_model_teaches_no_size(tmp_path: Path) -> None:
    rows = np.random.default_rng(7).normal(size=(300, 3))
    xgboost.train({"nthread": 1}, xgboost.DMatrix(rows, rows[:, 0]), 50).save_model(tmp_path / "model.ubj")
    loading, left = threading.Event(), threading.Event()
    left.set()

    def grown() -> int:
        loading.set()
        assert left.wait(60.0)
        return 77

    async def sizes() -> tuple[int, int]:
        shop = loader(gauge=Told(grown))
        leaver = await load(shop, "leaver", tmp_path)
        predicted_bytes = (await shop.recognise(Placed("comer", "comer-1", tmp_path))).predicted_bytes
        left.clear()
        loading.clear()
        coming = asyncio.create_task(load(shop, "comer", tmp_path))
        assert await asyncio.to_thread(loading.wait, 10)
        await shop.unload(leaver.runner)
        left.set()
        comer = await coming
        await shop.close()
        return comer.size_bytes, predicted_bytes

    size_bytes, predicted_bytes = asyncio.run(sizes())
    assert size_bytes == predicted_bytes != max(77, FLOOR_BYTES)


def test_unloads_while_memory_is_given_back_share_the_next_give_back() -> None:
    given: list[int] = []
    giving, go_on = threading.Event(), threading.Event()

    def give_back() -> None:
        given.append(1)
        giving.set()
        assert go_on.wait(60.0)

    async def five_leave() -> None:
        shop = loader(give_back=give_back)
        first = asyncio.create_task(shop.settle())
        assert await asyncio.to_thread(giving.wait, 10.0)
        others = [asyncio.create_task(shop.settle()) for _ in range(4)]
        await asyncio.sleep(0)
        go_on.set()
        used = await asyncio.gather(first, *others)
        assert len(set(used[1:])) == 1
        await shop.close()

    asyncio.run(five_leave())
    assert len(given) == 2


def test_a_script_whose_load_times_out_during_the_measurement_is_closed(tmp_path: Path) -> None:
    (tmp_path / "inference.py").write_text("def model_fn(model_dir): ...")
    script = Started()

    async def story() -> None:
        shop = loader(scripts=Starting(script))
        loading = asyncio.create_task(load(shop, "m", tmp_path))
        assert await asyncio.to_thread(script.measured.wait, 10.0)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert script.closed
        script.tell.set()
        await shop.close()

    asyncio.run(story())


class Started(Scripted):
    """A script in its process; `processes` returns once the test allows it."""

    def __init__(self) -> None:
        self.measured, self.tell = threading.Event(), threading.Event()
        self.closed = False

    async def close(self) -> None:
        self.closed = True

    def processes(self) -> list[list[int]]:
        self.measured.set()
        assert self.tell.wait(60.0)
        return []


class Starting(Scripts):
    """Starts this script, whatever the arguments."""

    def __init__(self, script: Scripted, once_s: float = 0.0, imports_s: float = 0.0) -> None:
        self._started = StartedScript(script, Effort(0.0, 0.0), once_s, imports_s)

    async def start(self, *given: object) -> StartedScript:
        return self._started


def test_each_worker_of_a_script_is_expected_to_take_the_memory_of_one() -> None:
    one, three = (priors(available(), workers) for workers in (1, 3))
    assert three["xgboost"] == one["xgboost"]
    assert three["script"] == Prior(3 * one["script"].fixed_bytes, 3 * one["script"].ratio)

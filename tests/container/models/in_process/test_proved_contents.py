"""A model that needs no trial is loaded from the very bytes that were proved, and nothing holds them afterwards."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from torpor_container.artifacts.seals import Seal
from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions, available
from torpor_container.invocation import Invocation
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.built_in_loader import BuiltInLoader
from torpor_container.models.in_process.proved_contents import HELD_MAX_BYTES, ProvedContents
from torpor_container.models.loader import Placed
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.running.scripts import Scripts
from torpor_container.settings import Settings
from torpor_container.trials.trial_process import TrialCandidate, Trials

ROWS = np.round(np.random.default_rng(7).normal(size=(100, 3)), 3)
BODY = "\n".join(",".join(map(str, row)) for row in ROWS.tolist()).encode()
TREES, OTHER_TREES = (xgboost.train({"nthread": 1}, xgboost.DMatrix(ROWS, ROWS[:, at]), 5) for at in (0, 1))


def saved(booster: Any, kind: str = "ubj", note: str = "") -> bytes:
    copy = booster.copy()
    copy.set_attr(note=note)
    return bytes(copy.save_raw(kind))


def shop(folder: Path) -> BuiltInLoader:
    """A loader that can try nothing: a model that needs a trial is refused."""
    settings, conventions = Settings.read({"SAGEMAKER_BASE_DIR": str(folder)}), Conventions()
    memory, nobody = MemoryBudget(1 << 30), ZygoteAccess("/nowhere")
    scripts, trials = Scripts(settings, memory, conventions, nobody, {}), Trials(memory, 1.0, conventions, nobody, {})
    return BuiltInLoader(settings, memory, conventions, scripts, lambda: 0.0, trials=trials)


def loaded_after_replacement(folder: Path, name: str, content: bytes, other: bytes) -> Any:
    """The booster that is served where the file becomes another one between its proof and its load: in its place, and
    by its old name."""
    path = folder / "model" / name
    path.parent.mkdir()
    path.write_bytes(content)

    async def story() -> Any:
        here = shop(folder)
        try:
            found = await here.recognise(Placed("m", "m-1", path.parent, "1", Seal.of(path.parent).content))
            path.write_bytes(other)
            os.replace(path, path.with_name("moved"))
            path.write_bytes(other)
            runner = (await found.load()).runner
            asked = Invocation(BODY, "text/csv", "application/json")
            return json.loads((await runner.invoke(asked, 60.0, Timing(lambda: 0.0))).body)
        finally:
            await here.close()

    return asyncio.run(story())


@pytest.mark.parametrize("kind", ["ubj", "json"])
@pytest.mark.parametrize("other", [saved(OTHER_TREES), b"no model"], ids=["another model", "no model"])
def test_what_is_loaded_is_what_was_proved(tmp_path: Path, kind: str, other: bytes) -> None:
    answered = loaded_after_replacement(tmp_path, f"model.{kind}", saved(TREES, kind), other)
    assert answered == TREES.inplace_predict(np.float32(ROWS)).tolist()


def test_a_content_that_is_not_held_is_proved_again_as_it_is_loaded(tmp_path: Path) -> None:
    large = saved(TREES, note="x" * HELD_MAX_BYTES)
    with pytest.raises(LoadFailed, match="was changed while it waited for its load"):
        loaded_after_replacement(tmp_path, "model.ubj", large, b"no model")


def test_a_content_that_is_not_held_is_what_is_proved_as_it_is_loaded(tmp_path: Path) -> None:
    large = saved(TREES, note="x" * HELD_MAX_BYTES)
    answered = loaded_after_replacement(tmp_path, "model.ubj", large, saved(OTHER_TREES))
    assert answered == OTHER_TREES.inplace_predict(np.float32(ROWS)).tolist()


def test_contents_that_wait_have_a_bound_together(tmp_path: Path) -> None:
    path, content = tmp_path / "model.ubj", saved(TREES)
    path.write_bytes(content)
    known = next(one for one in available() if one.name == "xgboost")
    waiting, candidate = ProvedContents(2 * len(content)), TrialCandidate(known.name, path, len(content))

    def sizes(*found: Any) -> list[int]:
        return [one.size_bytes for one in found]

    first, second, third = (waiting.of(known, candidate) for _ in range(3))
    assert first is not None
    assert sizes(first, second, third) == [len(content), len(content), 0]
    assert first.take() == (content,)
    assert first.take() is None
    assert sizes(first, waiting.of(known, candidate)) == [0, len(content)], "what was taken counts no longer"
    del second
    assert sizes(waiting.of(known, candidate)) == [len(content)], "nor what no load waits for"


def test_a_file_that_shows_nothing_by_its_bytes_is_to_be_tried(tmp_path: Path) -> None:
    path = tmp_path / "model.ubj"
    path.write_bytes(saved(TREES) + b" ")
    known = next(one for one in available() if one.name == "xgboost")
    assert ProvedContents().of(known, TrialCandidate(known.name, path, path.stat().st_size)) is None

"""An instance's bounds: work beyond them fails alone, leaves nothing behind, and harms no other call."""

import asyncio
import gc
import subprocess
import sys
import weakref
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from tests.helpers.waiting import reached
from torpor_container.content import TOOLKIT
from torpor_container.core.eviction import LRU
from torpor_container.core.residency import Residency
from torpor_container.errors import OutOfMemory
from torpor_container.formats.served import ServedModel
from torpor_container.invocation import Invocation
from torpor_container.models.relief import Relief
from torpor_container.models.tier import Tier

MIB = 1024 * 1024

CONFINED = """
from torpor_container.processes.memory import SCORE, confine
confine(100 << 20)
kept = b"x" * (60 << 20)
try:
    bytearray(200 << 20)
except MemoryError:
    print("too much", open("/proc/self/oom_score_adj").read().strip() == str(SCORE))
print(len(kept) >> 20)
"""


def test_a_confined_process_finds_no_memory_beyond_its_budget_and_goes_on() -> None:
    told = subprocess.run([sys.executable, "-c", CONFINED], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:2] == ["too much True", "60"]


RESIZED = """
from torpor_container.processes.memory import confine
limit = confine(100 << 20)

def fits(mib):
    try:
        return bool(bytearray(mib << 20))
    except MemoryError:
        return False

print(fits(400))
limit(500 << 20)
print(fits(400))
kept = bytearray(300 << 20)
limit(1 << 20)
print(fits(100), fits(200))
"""


def test_the_limit_follows_the_budget_and_leaves_a_process_what_it_has() -> None:
    told = subprocess.run([sys.executable, "-c", RESIZED], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["False", "True", "True False"]


class Prediction(list[Any]):
    """An object whose release a test can observe."""


def failing(error: Exception) -> tuple[ServedModel[Any], list["weakref.ref[Prediction]"]]:
    """A model whose prediction cannot be written for this reason, and the prediction."""
    held: list[weakref.ref[Prediction]] = []

    def predict(rows: Any) -> Prediction:
        prediction = Prediction([1.0])
        held.append(weakref.ref(prediction))
        return prediction

    class Answers(type(TOOLKIT)):  # type: ignore[misc]
        def encode(self, prediction: Any, kind: str) -> bytes:
            raise error

    model = ServedModel[Any](
        "any",
        None,
        lambda call: np.zeros((1, 1)),
        predict,
        Answers(**{one.name: getattr(TOOLKIT, one.name) for one in fields(TOOLKIT)}),
    )
    return model, held


def test_an_error_does_not_hold_the_prediction_that_it_is_about() -> None:
    model, held = failing(MemoryError("2.4 GB"))
    gc.disable()  # nothing but the last reference's end may free it
    try:
        with pytest.raises(OutOfMemory) as raised:
            model.invoke(Invocation(b"1", "text/csv"))
        assert held[0]() is None
        assert raised.value.__cause__ is raised.value.__context__ is None
    finally:
        gc.enable()


def test_an_allocation_error_of_a_framework_in_c_is_out_of_memory() -> None:
    def predict(rows: Any) -> Any:
        raise RuntimeError("[ONNXRuntimeError] : Failed to allocate memory for requested buffer of size 4398046511104")

    model = ServedModel[Any]("any", None, lambda call: np.zeros((1, 1)), predict, TOOLKIT)
    with pytest.raises(OutOfMemory) as raised:
        model.invoke(Invocation(b"1", "text/csv"))
    assert raised.value.status == 507


def books() -> Residency:
    """One model of 600 of 1,000 bytes."""
    kept = Residency(1000, LRU(), 4)
    kept.request("model", 0.0)
    kept.admit("model", 600, 0.0)
    kept.loaded("model", 600, 0.0, 0.0)
    kept.released("model")
    return kept


def test_no_model_is_evicted_for_memory_that_no_model_took() -> None:
    kept = books()
    kept.measured(2600)
    assert kept.overrun
    assert kept.evict_excess("model", 1.0) == ()
    kept.measured(1050)
    assert kept.evict_excess("another", 1.0) == ("model",)


@pytest.mark.parametrize(("used", "replaced"), [([2600, 2600, 900], False), ([2600, 2600, 2600], True)])
def test_an_instance_that_stays_over_its_budget_is_replaced(used: list[int], replaced: bool) -> None:
    async def story() -> list[str]:
        told: list[str] = []

        async def settled() -> int:
            return used.pop(0)

        tier = Tier(books(), lambda: 0.0, lambda name: asyncio.sleep(0))
        relief = Relief(tier, settled, lambda: told.append("replace"), pauses_s=(0.0, 0.0, 0.0))
        relief.begin()
        relief.begin()
        await reached(lambda: not used, look_s=0.001)
        await asyncio.sleep(0)
        await relief.close()
        return told

    assert asyncio.run(story()) == ["replace"] * replaced

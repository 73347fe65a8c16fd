"""XGBoost boosters on a device: batches are predicted there, and single rows on the processor where that is quicker.

A probe at the first entry measures from how many rows the device pays. What the probe makes the library keep is no
model's. A body that is too short to hold so many rows
never waits for the device.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torpor_container.core.devices.paying_rows import ENOUGH_S, NEVER, PROBED_ROWS, ProbedBatch, paying_rows, told
from torpor_container.devices.device import Device, DeviceFaults, DeviceMissing
from torpor_container.errors import LoadFailed
from torpor_container.formats.format import Conventions
from torpor_container.formats.xgboost import xgboost_format
from torpor_container.formats.xgboost.boosters import XGBOOST, BoosterTraits, in_thread_of_boosters

LEAST_BYTES_OF_A_CELL = 2
"""A digit and a comma: no content type has less for a cell of dense rows."""
TRIES = 2


@dataclass(frozen=True)
class PlacedBooster:
    """What one booster needs to enter a device again and again."""

    content: bytes
    columns: int
    missing: float
    iterations: tuple[int, int]


def booster_on_device(
    path: Path, conventions: Conventions, device: Device, side_by_side: int = 1
) -> "XgboostOnDevice | str":
    """The form of the booster in a file, or why it has none. The processor predicts so many batches `side_by_side`.
    Raises LoadFailed."""
    if xgboost_format.is_pickle(path):
        return "a pickled model predicts on the processor alone: save the booster as .ubj"
    member = xgboost_format.member(path, conventions).asked()
    traits = member.traits or BoosterTraits()
    if traits.kind != "gbtree":
        return f"a booster of the kind {traits.kind} predicts on the processor alone"
    if traits.categorical:
        return "a booster with categories predicts on the processor alone"
    content = in_thread_of_boosters(lambda: bytes(member.booster.save_raw("ubj")))
    placed = PlacedBooster(content, member.columns, member.missing, traits.iterations)
    return XgboostOnDevice(placed, path.name, device, side_by_side)


class XgboostOnDevice:
    """One booster of trees."""

    format = XGBOOST
    needs_folder = False
    hot = False
    bound = False

    def __init__(
        self,
        placed: PlacedBooster,
        name: str,
        device: Device,
        side_by_side: int = 1,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._placed = placed
        self._name = name
        self._device = device
        self._side_by_side = side_by_side
        self._clock = clock
        self._booster: Any = None
        self._on_processor: Callable[[Any], Any] | None = None
        self._pays = 1  # until it is probed
        self._probed: Sequence[ProbedBatch] = ()
        self.note = f"was not on {device.name} yet"

    @property
    def pays(self) -> int:
        """From how many rows the device predicts."""
        return self._pays

    def wants(self, body: bytes) -> bool:
        return self._pays < NEVER and len(body) >= self._pays * self._placed.columns * LEAST_BYTES_OF_A_CELL

    def enter(self, cap_bytes: int) -> None:
        import xgboost

        booster = self._booster = xgboost.Booster()
        with ExitStack() as unless_entered:
            unless_entered.callback(self.leave)
            try:
                with DeviceFaults(self._device):
                    booster.load_model(bytearray(self._placed.content))
                    self._device.place(booster)
                    self._by(booster, np.zeros((1, self._placed.columns), np.float32))  # the trees move there
            except DeviceMissing as missing:
                raise LoadFailed(f"{self._name}: {missing}") from None
            if not self._probed and self._on_processor is not None:
                self._probe(self._on_processor)
            unless_entered.pop_all()

    def shrink(self) -> None:
        self._device.trim()

    def leave(self) -> None:
        last = [self._booster]
        if self._booster is not None:
            self._device.close_booster(self._booster)
        self._booster = None
        in_thread_of_boosters(last.clear)
        self._device.trim()

    def over(self, predict: Callable[[Any], Any]) -> Callable[[Any], Any]:
        self._on_processor = predict
        return self._predict

    def _predict(self, rows: Any) -> Any:
        booster = self._booster
        assert self._on_processor is not None
        if booster is None or not isinstance(rows, np.ndarray) or len(rows) < self._pays:
            return self._on_processor(rows)
        with DeviceFaults(self._device):
            return self._by(booster, rows)

    def predict_there(self, rows: Any) -> Any:
        """Dense rows, on the device, however many they are. The model must have entered it."""
        with DeviceFaults(self._device):
            return self._by(self._booster, rows)

    def _by(self, booster: Any, rows: Any) -> Any:
        placed = self._placed
        there = self._device.rows(np.ascontiguousarray(rows, np.float32))
        answers = booster.inplace_predict(
            there, iteration_range=placed.iterations, missing=placed.missing, validate_features=False
        )
        return answers.get() if hasattr(answers, "get") else answers

    def _probe(self, on_processor: Callable[[Any], Any]) -> None:
        probed: list[ProbedBatch] = []
        dice = np.random.default_rng(0)
        for count in PROBED_ROWS:
            rows = dice.standard_normal((count, self._placed.columns), np.float32)
            device_s, processor_s = self._best_s(self.predict_there, rows), self._best_s(on_processor, rows)
            probed.append(ProbedBatch(count, processor_s, device_s))
            if max(processor_s, device_s) > ENOUGH_S:
                break
        self._probed, self._pays = tuple(probed), paying_rows(probed, self._side_by_side)
        self.note = told(probed, self._device.name, self._side_by_side)

    def _best_s(self, predict: Callable[[Any], Any], rows: Any) -> float:
        took_s = []
        for _ in range(TRIES):
            began_s = self._clock()
            predict(rows)
            took_s.append(self._clock() - began_s)
        return min(took_s)

"""The profile of a model, its sizes and times; that of a container; and the spread of single times around them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, repeat

import numpy as np

from torpor_container.core.occupancy import Footprint


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """Sizes in bytes, times in seconds. `disk_bytes` is the artifact unpacked, `memory_bytes` the model loaded. Of
    these, `mapped_bytes` are in a file that all instances of the machine map: they need it once. `artifact_bytes` is
    the artifact in S3; 0: as many as on the disk.

    `workers` are processes of its own that answer its requests, one at a time each, as a user script has them; 0 for a
    model that the instance's threads answer for.

    `further_s` is the work of each further request in one prediction of several; None for a model
    whose requests share none.

    `once_s` is what its first load on a machine waits for, and no later one: a trial of the model, or a script's
    packages.

    A model with `device_bytes` predicts on the device of an instance that has one: it takes so many bytes there, enters
    in `enter_s` from memory, and a prediction there takes `device_predict_s`. 0: it predicts on the processor.

    Unpacking, loading and predicting have two parts: work, which takes longer on busy processors, and a delay, which
    does not: a wait for a disk, a network, another server. Downloads and unloads are delays.
    """

    name: str
    memory_bytes: int
    disk_bytes: int
    download_s: float = 0.002
    unpack_s: float = 0.002
    load_s: float = 0.005
    unload_s: float = 0.001
    predict_s: float = 0.001
    unpack_delay_s: float = 0.0
    load_delay_s: float = 0.0
    predict_delay_s: float = 0.0
    mapped_bytes: int = 0
    workers: int = 0
    further_s: float | None = None
    artifact_bytes: int = 0
    device_bytes: int = 0
    enter_s: float = 0.0
    device_predict_s: float = 0.0
    once_s: float = 0.0

    @property
    def stored_bytes(self) -> int:
        """The bytes of the artifact in S3."""
        return self.artifact_bytes or self.disk_bytes

    def charged_bytes(self, holders: int) -> int:
        """What the model costs an instance while so many instances have it in memory, this one included."""
        if not self.mapped_bytes:
            return self.memory_bytes
        return Footprint(self.memory_bytes - self.mapped_bytes, self.mapped_bytes).charged_bytes(holders)

    @property
    def pull_s(self) -> float:
        """The seconds from the store to the disk, on idle processors."""
        return self.download_s + self.unpack_delay_s + self.unpack_s

    @property
    def into_memory_s(self) -> float:
        """The seconds from the disk to memory, on idle processors."""
        return self.load_delay_s + self.load_s


@dataclass(frozen=True, slots=True)
class ContainerProfile:
    """One container of a pipeline. Sizes are in bytes, times in seconds.

    `models` marks the one whose models the profiles describe: it has no size and no times here. Every other one has one
    model that never leaves, and `memory_bytes` of its process with that model. `threads` predict; None: as many as in
    the container with the models. `workers` are processes of its model's own, as in a `ModelProfile`.
    """

    name: str
    memory_bytes: int = 0
    predict_s: float = 0.0
    predict_delay_s: float = 0.0
    predict_sigma: float = 0.0
    start_s: float = 0.0  # until it is ready
    threads: int | None = None
    models: bool = False
    workers: int = 0


class Spread:
    """Draws factors for single times, log-normal: for predictions with a mean of 1, for loads and wakes with a median
    of 1, since profiles have means of predictions and medians of the others, as those of `simulator.fitting` have.

    `predict_sigma`, `load_sigma` and `wake_sigma` are the standard deviations of the logarithm; 0 is no spread.
    """

    DRAWN = 65_521
    """How many factors are drawn before they repeat: a prime, so that the period matches none of a trace's."""

    def __init__(
        self,
        predict_sigma: float = 0.0,
        load_sigma: float = 0.0,
        wake_sigma: float = 0.0,
        seed: int = 0,
        container: int = 0,
    ) -> None:
        """`container` numbers the containers of a pipeline from 1: each draws for itself."""
        self.exact = not (predict_sigma or load_sigma or wake_sigma)  # whether every factor is 1
        rng = np.random.default_rng([seed, 2, container] if container else [seed, 2])
        self.predict: Callable[[], float] = self._drawn(rng, -(predict_sigma**2) / 2, predict_sigma).__next__
        self.load: Callable[[], float] = self._drawn(rng, 0.0, load_sigma).__next__
        self.wake: Callable[[], float] = self._drawn(rng, 0.0, wake_sigma).__next__

    def _drawn(self, rng: np.random.Generator, mu: float, sigma: float) -> Iterator[float]:
        if not sigma:
            return repeat(1.0)
        return cycle(np.exp(rng.normal(mu, sigma, self.DRAWN)).tolist())


EXACT = Spread()
"""No spread: every time is the profile's."""

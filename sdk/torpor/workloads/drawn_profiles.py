"""Draws how big models are and how long they take, where nothing was measured. The laws are written at their fields."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from torpor.workloads.profile import ModelProfile
from torpor.workloads.trace import Times

MB = 1_000_000


@dataclass(frozen=True)
class SizeLaw:
    """A log-normal distribution of sizes, in bytes."""

    median_bytes: float = 64 * MB
    sigma: float = 1.0
    most_bytes: float = 4_000 * MB  # half of an instance's memory is a good choice


@dataclass(frozen=True)
class Seconds:
    """Times with a fixed part and a part that grows with the size, and log-normal noise on both."""

    fixed_s: float
    bytes_per_s: float
    sigma: float = 0.2

    def drawn(self, rng: np.random.Generator, sizes_bytes: Times) -> Times:
        noise: Times = np.exp(rng.normal(0.0, self.sigma, len(sizes_bytes)))
        return (self.fixed_s + sizes_bytes / self.bytes_per_s) * noise


@dataclass(frozen=True)
class ProfileLaws:
    sizes: SizeLaw = SizeLaw()
    download: Seconds = Seconds(0.01, 400 * MB)
    unpack: Seconds = Seconds(0.002, 500 * MB)
    load: Seconds = Seconds(0.15, 200 * MB)
    unload: Seconds = Seconds(0.005, 5_000 * MB)
    predict_median_s: float = 0.02
    predict_sigma: float = 0.6


TABULAR = ProfileLaws()
DEEP = ProfileLaws(SizeLaw(2_000 * MB, 0.8, 16_000 * MB), load=Seconds(2.0, 400 * MB), predict_median_s=0.05)


def drawn(names: Sequence[str], seed: int = 0, laws: ProfileLaws = TABULAR) -> dict[str, ModelProfile]:
    """Draw a profile for each name. A model has the same size on disk and in memory. Size and popularity are
    independent."""
    rng = np.random.default_rng([seed, len(names), 1])
    sizes = laws.sizes
    drawn_bytes = np.exp(rng.normal(np.log(sizes.median_bytes), sizes.sigma, len(names)))
    sizes_bytes = np.floor(np.clip(drawn_bytes, 1, sizes.most_bytes))
    steps = [law.drawn(rng, sizes_bytes).tolist() for law in (laws.download, laws.unpack, laws.load, laws.unload)]
    predict_s = np.exp(rng.normal(np.log(laws.predict_median_s), laws.predict_sigma, len(names))).tolist()
    whole_bytes = sizes_bytes.astype(np.int64).tolist()
    columns = zip(names, whole_bytes, whole_bytes, *steps, predict_s, strict=True)
    return {row[0]: ModelProfile(*row) for row in columns}

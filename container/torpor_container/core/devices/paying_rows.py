"""From how many rows a device predicts a model quicker than the processor, as a probe at load measured it.

A device costs a copy and a launch for each call: it pays for batches, and often never for a single row. It takes one
call at a time, while the processor takes as many as it has turns. So the device pays where it has done as many calls,
one after the other, before the processor has done them side by side.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

PROBED_ROWS: Final = (1, 16, 256, 4096)
ENOUGH_S: Final = 0.05
"""The probe ends with the first batch that takes this long on either side: a larger one tells nothing new."""
NEVER: Final = 2**62


class ProbedBatch(NamedTuple):
    """How long one batch took on the processor and on the device, in seconds: the best of several times."""

    rows: int
    processor_s: float
    device_s: float


def paying_rows(probed: Sequence[ProbedBatch], side_by_side: int = 1) -> int:
    """The fewest rows from which the device is quicker for every larger batch; NEVER if the largest is not.

    The processor predicts so many batches `side_by_side`, and the device one after the other. `probed` is in the order
    of rows. Where the largest batch is quicker on the device, larger ones are too.
    """
    pays = NEVER
    for one in reversed(probed):
        if one.device_s * side_by_side >= one.processor_s:
            break
        pays = one.rows
    return pays


def told(probed: Sequence[ProbedBatch], device: str, side_by_side: int = 1) -> str:
    """A sentence for `why`."""
    pays = paying_rows(probed, side_by_side)
    if not probed:
        return f"nothing was probed: every batch is predicted on {device}"
    turns = "" if side_by_side == 1 else f"; the processor predicts {side_by_side} batches side by side"
    if pays == NEVER:
        largest = probed[-1]
        took = f"{largest.rows:,} rows take it {_ms(largest.processor_s)}, and {device} {_ms(largest.device_s)}"
        return f"the processor predicts every batch: {took}{turns}"
    at = next(one for one in probed if one.rows == pays)
    took = f"in {_ms(at.device_s)} against {_ms(at.processor_s)} of the processor"
    fewer = "" if pays == probed[0].rows else "; fewer rows stay on the processor"
    return f"{device} predicts {pays:,} rows and more, {took}{fewer}{turns}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"

"""When an arena gives back what a large request made it take.

ONNX Runtime's arena keeps the most that any request has needed. To shrink it after each request would cost an
allocation in the next one; so it shrinks after a request that is far larger than usual.
"""

from typing import Final

FAR_LARGER: Final = 4.0
LEARNING: Final = 0.1


class ArenaPeaks:
    """The usual size of one model's requests, in any unit."""

    def __init__(self) -> None:
        self._usual = 0.0

    def is_peak(self, size: float) -> bool:
        """Whether the arena should shrink after a request of this size. Call it once for each request."""
        usual = self._usual
        self._usual = size if not usual else usual + LEARNING * (min(size, FAR_LARGER * usual) - usual)
        return bool(usual) and size > FAR_LARGER * usual

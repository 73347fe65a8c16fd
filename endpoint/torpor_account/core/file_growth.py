"""Records when each byte of a growing file was first seen, in a bounded number of marks. Pure."""

from bisect import bisect_left, bisect_right

from torpor_container.frozen_class import frozen

MARKS_MAX = 2000
"""Half an hour of a file that grows every second. Older marks are thinned out."""


@frozen
class Marks:
    """The file had `offsets[n]` bytes at `times_ms[n]`; both ascend. Each truncation begins a new `generation`."""

    generation: int = 0
    offsets: tuple[int, ...] = ()
    times_ms: tuple[int, ...] = ()

    @property
    def size_bytes(self) -> int:
        return self.offsets[-1] if self.offsets else 0

    def noted(self, size_bytes: int, at_ms: int) -> "Marks":
        """The marks with one more. A file that is smaller than before was truncated."""
        if size_bytes < self.size_bytes:
            return Marks(self.generation + 1).noted(size_bytes, at_ms)
        if size_bytes == self.size_bytes:
            return self
        if self.times_ms and at_ms <= self.times_ms[-1]:  # the same moment, or the clock was set back
            return Marks(self.generation, (*self.offsets[:-1], size_bytes), self.times_ms)
        return Marks(self.generation, (*self.offsets, size_bytes), (*self.times_ms, at_ms)).thinned()

    def without(self, start: int) -> "Marks":
        """Those of the file's bytes from `start` on, as another file: its offsets are others."""
        kept = [place for place, offset in enumerate(self.offsets) if offset > start]
        offsets, times_ms = (self.offsets[place] - start for place in kept), (self.times_ms[place] for place in kept)
        return Marks(self.generation + 1, tuple(offsets), tuple(times_ms))

    def thinned(self) -> "Marks":
        """Beyond MARKS_MAX, drop every second mark of the older half: its bytes count as seen at the next mark."""
        if len(self.offsets) <= MARKS_MAX:
            return self
        half = MARKS_MAX // 2
        offsets = self.offsets[1:half:2] + self.offsets[half:]
        return Marks(self.generation, offsets, self.times_ms[1:half:2] + self.times_ms[half:])

    def seen_ms(self, offset: int) -> int:
        """The time when the byte at `offset`, which is below `size_bytes`, was first seen."""
        return self.times_ms[bisect_right(self.offsets, offset)]

    def since(self, at_ms: int) -> int:
        """The offset of the first byte that was seen at `at_ms` or later."""
        before = bisect_left(self.times_ms, at_ms)
        return self.offsets[before - 1] if before else 0

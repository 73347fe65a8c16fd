"""What a trial writes of a model that it has loaded, so that the instance reads that: in a form that shows that it is
sound, and is read in a fraction of the time.

The process of a trial may be in the hands of the model. So nobody can change what it wrote once the instance has begun
to look at it, and the instance believes nothing that the bytes themselves do not show.
"""

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_SEALS = ("F_SEAL_WRITE", "F_SEAL_GROW", "F_SEAL_SHRINK", "F_SEAL_SEAL")


class TrialWriting:
    """A file in memory. It ends with this object."""

    def __init__(self, is_sound: Callable[[Path], bool]) -> None:
        """`is_sound` is `Format.is_sound`. Raises OSError."""
        self.descriptor = os.memfd_create("trial", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._is_sound = is_sound
        self._good: bool | None = None

    @property
    def path(self) -> Path:
        return Path(f"/proc/self/fd/{self.descriptor}")

    def is_good(self) -> bool:
        """Whether it may be read instead of the model's file. Nobody writes to it from now on. Blocks."""
        if self._good is None:
            self._good = False
            with suppress(OSError):  # the process maps it for writing
                fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, sum(getattr(fcntl, name) for name in _SEALS))
                self._good = self._is_sound(self.path)
        return self._good

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.descriptor)


def write(descriptor: int, content: bytes) -> None:
    """Write all, in the process of a trial. If that fails, the instance reads the model's own file."""
    with suppress(OSError):
        at = 0
        while at < len(content):
            at += os.pwrite(descriptor, content[at:], at)

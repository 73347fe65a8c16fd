"""Kills an arbiter and its workers as a machine does that loses its power: none of them sees another one go."""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress


def kill_together(arbiter: int, workers: Sequence[int]) -> None:
    """SIGKILL to all. A worker that sees its arbiter go ends its instances in good order: so it is stopped before."""
    for pid, sent in (
        *((pid, signal.SIGSTOP) for pid in workers),
        *((pid, signal.SIGKILL) for pid in (arbiter, *workers)),
    ):
        with suppress(ProcessLookupError):
            os.kill(pid, sent)

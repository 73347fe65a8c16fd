"""Whether a data folder can be used: looked at before an endpoint starts on it. It holds nothing itself."""

import fcntl
import os
import time
from pathlib import Path

from torpor.errors import EndpointFailed

PATIENCE_S = 2.0
"""An endpoint that was killed may take a moment to let go."""
LOOK_S = 0.05


def ensure_free(data_dir: Path, patience_s: float = PATIENCE_S) -> None:
    """Raises EndpointFailed if another endpoint keeps the folder for all of `patience_s`."""
    deadline_s = time.monotonic() + patience_s
    while in_use(data_dir):
        if time.monotonic() > deadline_s:
            raise EndpointFailed(f"another endpoint uses {data_dir}: stop it, or choose another data folder")
        time.sleep(LOOK_S)


def ensure_writable(data_dir: Path) -> None:
    """Make the folder where there is none. Raises EndpointFailed if nothing can be written in it."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EndpointFailed(f"the data folder {data_dir} cannot be made: {error.strerror}") from error
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise EndpointFailed(f"the data folder {data_dir} cannot be written: choose another")


def in_use(data_dir: Path) -> bool:
    """An endpoint locks the file `lock` for as long as it lives."""
    try:
        with (data_dir / "lock").open() as found:
            fcntl.flock(found, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False

"""Whether a data folder can be used: looked at before an endpoint starts on it. It holds nothing itself."""

import fcntl
import os
import sys
import time
from pathlib import Path

from torpor.errors import EndpointFailed
from torpor_endpoint.up import abandoned

PATIENCE_S = 2.0
"""An endpoint that was killed may take a moment to let go."""
ORPHAN_PATIENCE_S = 6.0
"""One whose arbiter was killed stops, as any does, within five seconds."""
LOOK_S = 0.05


def ensure_free(data_dir: Path, option: str = "data_dir", patience_s: float = PATIENCE_S) -> None:
    """Raises EndpointFailed, which names the option, if another endpoint keeps the folder for all of `patience_s`."""
    began_s, told = time.monotonic(), False
    while in_use(data_dir):
        waited_s = time.monotonic() - began_s
        if waited_s > patience_s and abandoned(data_dir):
            patience_s = max(patience_s, ORPHAN_PATIENCE_S)
        if waited_s > patience_s:
            raise EndpointFailed(f"another endpoint uses {data_dir}: stop it, or choose another folder by {option}")
        if not told and abandoned(data_dir):
            print(f"waiting for what is left of the endpoint that had {data_dir}", file=sys.stderr)
            told = True
        time.sleep(LOOK_S)


def ensure_writable(data_dir: Path, option: str = "data_dir") -> None:
    """Make the folder where there is none. Raises EndpointFailed, which names the option, if nothing can be written."""
    if data_dir.is_file():
        raise EndpointFailed(f"{data_dir} is a file, not a folder: choose another by {option}")
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EndpointFailed(
            f"the data folder {data_dir} cannot be made: {error.strerror}: choose another by {option}"
        ) from error
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise EndpointFailed(f"the data folder {data_dir} cannot be written: choose another by {option}")


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

"""Checks before an endpoint starts that its data folder is free and writable. It locks nothing itself."""

import fcntl
import os
import sys
import time
from pathlib import Path

from torpor.errors import EndpointFailed
from torpor_container.waiting.quiet_time import QuietClock
from torpor_endpoint.up import abandoned

PATIENCE_S = 2.0
"""How long a killed endpoint may keep its lock, in seconds."""
ORPHAN_PATIENCE_S = 6.0
"""The same for an endpoint whose arbiter was killed: its worker stops within five seconds."""
POLL_S = 0.05


def ensure_free(data_dir: Path, option: str = "data_dir", patience_s: float = PATIENCE_S) -> None:
    """Raises EndpointFailed, which names the option, if another endpoint uses the folder for `patience_s` seconds."""
    clock, announced = QuietClock(), False
    while in_use(data_dir):
        waited_s = clock()
        if waited_s > patience_s and abandoned(data_dir):
            patience_s = max(patience_s, ORPHAN_PATIENCE_S)
        if waited_s > patience_s:
            raise EndpointFailed(f"another endpoint uses {data_dir}: stop it, or choose another folder with {option}")
        if not announced and abandoned(data_dir):
            print(f"waiting for the remaining processes of the endpoint that used {data_dir}", file=sys.stderr)
            announced = True
        time.sleep(POLL_S)


def ensure_writable(data_dir: Path, option: str = "data_dir") -> None:
    """Create the folder if there is none. Raises EndpointFailed, which names the option, if it cannot be written."""
    if data_dir.is_file():
        raise EndpointFailed(f"{data_dir} is a file, not a folder: choose a folder with {option}")
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EndpointFailed(
            f"the data folder {data_dir} cannot be created: {error.strerror}: choose another with {option}"
        ) from error
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise EndpointFailed(f"the data folder {data_dir} cannot be written: choose another with {option}")


def in_use(data_dir: Path) -> bool:
    """Whether an endpoint uses the folder: it locks the file `lock` as long as it runs."""
    try:
        with (data_dir / "lock").open() as found:
            fcntl.flock(found, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False

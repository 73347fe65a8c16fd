"""Writes data logs, which are log streams as on AWS: why an object or an asynchronous request has no result."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

BYTES_MAX = 32 * 1024 * 1024
"""A log that is larger starts again from nothing, as an instance's does."""


class DataLog:
    """The log in one folder. Its method blocks, so call it in a worker thread.

    `clock` gives epoch seconds. `noted` is called after each write, so that the lines get its time.
    """

    def __init__(self, folder: Path, clock: Callable[[], float], noted: Callable[[Path], object]) -> None:
        self._path = folder / "data-log.log"
        self._clock = clock
        self._noted = noted

    def write(self, *lines: str, about: str = "") -> None:
        """Write lines with the time, in AWS's form. `about` is the id of the request that they are about."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "")
        begin = f"{at}:[sagemaker logs] [{about}]" if about else f"{at}:[sagemaker logs]:"
        with self._path.open("a") as file:
            if file.tell() > BYTES_MAX:
                file.truncate(0)
            file.write("".join(f"{begin} {line}\n" for line in lines))
        self._noted(self._path)

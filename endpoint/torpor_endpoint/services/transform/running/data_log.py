"""Writes a job's data log: its settings, and why an object has no result. As on AWS, it is a log stream of its own."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path


class DataLog:
    """Its method blocks, so call it in a worker thread."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self._path = folder / "data-log.log"
        self._clock = clock

    def write(self, *lines: str) -> None:
        """Write lines with the time, in AWS's form."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "")
        with self._path.open("a") as file:
            file.write("".join(f"{at}:[sagemaker logs]: {line}\n" for line in lines))

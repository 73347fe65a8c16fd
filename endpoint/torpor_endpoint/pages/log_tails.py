"""Reads the ends of the newest logs of instances, for the page that shows them."""

from contextlib import suppress
from pathlib import Path

LOG_MAX_BYTES = 256 * 1024
LOGS_MAX = 20


def tails(folder: Path) -> str:
    """The end of each of the newest logs below the folder, under a heading with the stream's name."""
    parts = []
    newest_last = sorted(folder.rglob("*.log"), key=_written_ns)[-LOGS_MAX:]
    for path in newest_last:
        with suppress(FileNotFoundError), path.open("rb") as log:  # the endpoint may delete an old log meanwhile
            log.seek(max(0, path.stat().st_size - LOG_MAX_BYTES))
            stream = path.relative_to(folder).with_suffix("")
            parts.append(f"==> {stream} <==\n{log.read().decode(errors='replace')}")
    return "\n".join(parts)


def _written_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0

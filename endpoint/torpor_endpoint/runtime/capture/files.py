"""Collects captured lines into files, one for each variant and hour, until they are old or large enough to be sent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from torpor_endpoint.core.capture import CapturedRequest, LineEncoder, file_name, key_prefix

FILE_MAX_BYTES = 4 * 1024 * 1024
FILE_MAX_S = 5.0
"""A file is sent when it has so many bytes, or is so old. AWS: capture data may take a few minutes to arrive."""


@dataclass
class CaptureFile:
    """One file of captured lines in memory."""

    bucket: str
    key: str
    endpoint: str
    variant: str
    due_s: float  # of the steady clock
    encoder: LineEncoder
    role: str = ""  # the ARN of the role that writes it
    pieces: list[bytes] = field(default_factory=list)
    records: int = 0
    size_bytes: int = 0

    def add(self, *pieces: bytes) -> None:
        """Add one line, in one piece or several."""
        self.pieces += pieces
        self.records += 1
        self.size_bytes += sum(map(len, pieces))


class OpenFiles:
    """The files that still take lines, by variant and hour. `clock` gives steady seconds."""

    def __init__(self, clock: Callable[[], float], name: Callable[[], str] = lambda: str(uuid4())) -> None:
        self._clock = clock
        self._name = name
        self._files: dict[tuple[str, str, int], CaptureFile] = {}
        self._superseded: list[CaptureFile] = []

    def __len__(self) -> int:
        return len(self._files) + len(self._superseded)

    def of(self, request: CapturedRequest) -> CaptureFile:
        """The open file that the request belongs to."""
        where = request.endpoint, request.variant, int(request.at_s // 3600)
        file = self._files.get(where)
        if file is None or file.encoder.capture is not request.capture:
            if file is not None:
                self._superseded.append(file)  # an update has changed the configuration
            file = self._files[where] = self._new(request)
        return file

    def _new(self, request: CapturedRequest) -> CaptureFile:
        bucket, prefix = key_prefix(request)
        key, due_s = prefix + file_name(request.at_s, self._name()), self._clock() + FILE_MAX_S
        encoder = LineEncoder(request.capture)
        return CaptureFile(bucket, key, request.endpoint, request.variant, due_s, encoder, request.capture.role)

    def take_due(self) -> list[CaptureFile]:
        """Remove and return the files that are old or large enough."""
        now_s = self._clock()
        return self._take(lambda file: now_s >= file.due_s or file.size_bytes >= FILE_MAX_BYTES)

    def take_all(self, endpoint: str | None = None) -> list[CaptureFile]:
        """Remove and return all files, or those of one endpoint."""
        return self._take(lambda file: endpoint in (None, file.endpoint))

    def _take(self, chosen: Callable[[CaptureFile], bool]) -> list[CaptureFile]:
        taken = {where: file for where, file in self._files.items() if chosen(file)}
        for where in taken:
            del self._files[where]
        superseded, self._superseded = self._superseded, []
        return [*superseded, *taken.values()]

"""Takes captured requests to S3 beside the requests: encodes them in short turns on the event loop, and sends files."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor

from torpor_endpoint.core.capture import CapturedRequest, line
from torpor_endpoint.services.runtime.capture.backlog import Backlog, CaptureLimits
from torpor_endpoint.services.runtime.capture.delivery import Delivery, Objects
from torpor_endpoint.services.runtime.capture.files import CaptureFile, OpenFiles

TURN_RECORDS = 16
TURN_BYTES = 256 * 1024
"""The requests go on after so many records, or bytes, have been encoded."""

PERIOD_S = 0.1
FLUSH_S = 2.0
"""How long a deleted endpoint waits until its last files are sent. What takes longer is still sent afterwards."""

LIMITS = CaptureLimits()

log = logging.getLogger(__name__)

Count = Callable[[str, str, int, bool], None]
"""Gets an endpoint, a variant, a number of records, and whether they are in S3 or lost."""


class Capturing:
    """All that is captured and not yet in S3. For the event loop's thread; a slow or broken S3 delays no request.

    `clock` gives steady seconds. `count` gets all records that leave memory.
    """

    def __init__(
        self,
        objects: Objects,
        thread: Executor,
        clock: Callable[[], float],
        count: Count,
        limits: CaptureLimits = LIMITS,
    ) -> None:
        self._thread = thread
        self._count = count
        self._some = asyncio.Event()
        self._turn = asyncio.Lock()
        self._full = False
        self.backlog = Backlog(limits, self._some.set, self._dropped)
        self._files = OpenFiles(clock)
        self._delivery = Delivery(objects, thread, clock, self._left)

    async def run(self) -> None:
        """Encode and send what is captured, for ever. It rests while nothing is captured."""
        while True:
            await self._some.wait()
            self._some.clear()
            while self.backlog or self._files or self._delivery:
                await self._encode()
                self._delivery.add(self._files.take_due())
                self._delivery.start()
                await asyncio.sleep(PERIOD_S)

    async def flush(self, endpoint: str) -> None:
        """Send all files of an endpoint that goes. Waits `FLUSH_S` for them at most."""
        await self._encode()
        self._delivery.add(self._files.take_all(endpoint))
        self._some.set()  # what cannot be sent now is sent again
        await asyncio.wait({self._delivery.start()}, timeout=FLUSH_S)

    async def close(self) -> None:
        """Send everything once. What S3 does not take is lost. Bound the time of this call: S3 may hang."""
        await self._encode()
        self._delivery.add(self._files.take_all())
        self._delivery.hurry()
        try:
            await self._delivery.start()
        finally:
            self._thread.shutdown(wait=False)
            if self._delivery:
                log.error("%d captured records are lost: the endpoint stops", self._delivery.records)

    async def _encode(self) -> None:
        """Turn the backlog into lines. One caller at a time; a caller that is cancelled loses no record."""
        async with self._turn:
            records = encoded_bytes = 0
            while self.backlog:
                request = self.backlog.first()
                pieces = []
                for piece in line(request):
                    pieces.append(piece)
                    encoded_bytes += len(piece)
                    if encoded_bytes >= TURN_BYTES:
                        records = encoded_bytes = 0
                        await asyncio.sleep(0)
                encoded = [piece.encode() for piece in _joined(pieces)]
                self._files.of(request).add(encoded)
                self.backlog.encoded(sum(map(len, encoded)))
                records += 1
                if records >= TURN_RECORDS:
                    records = encoded_bytes = 0
                    await asyncio.sleep(0)

    def _dropped(self, request: CapturedRequest) -> None:
        self._count(request.endpoint, request.variant, 1, False)
        if not self._full:
            self._full = True
            log.error("records of data capture are lost: S3 does not take them as quickly as they come")

    def _left(self, file: CaptureFile, delivered: bool) -> None:
        self.backlog.released(file.size_bytes)
        self._full = self._full and not delivered
        self._count(file.endpoint, file.variant, file.records, delivered)


def _joined(pieces: list[str]) -> list[str]:
    """A short line in one piece. A long one stays in pieces: to join it would stop the event loop for too long."""
    return pieces if sum(map(len, pieces)) > TURN_BYTES else ["".join(pieces)]

"""Takes captured requests to S3 beside the requests: encodes them in short turns on the event loop, and sends files."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor

from torpor_account.outer_edge import outer_edge
from torpor_endpoint.core.capture import CapturedRequest
from torpor_endpoint.runtime.capture.backlog import TOGETHER, Backlog, CaptureLimits, Note
from torpor_endpoint.runtime.capture.delivery import Delivery, StoreOf
from torpor_endpoint.runtime.capture.files import CaptureFile, OpenFiles

SHORT_BYTES = 64 * 1024
"""A record with larger bodies is encoded in pieces, and the requests go on after each piece."""

PERIOD_S = 0.1
FLUSH_S = 2.0
"""How long a deleted endpoint waits until its last files are sent. What takes longer is still sent afterwards."""

LIMITS = CaptureLimits()
UNWRITABLE = "the record of request %s is lost: it cannot be encoded"

log = logging.getLogger(__name__)

Count = Callable[[str, str, int, bool], None]
"""Gets an endpoint, a variant, a number of records, and whether they are in S3 or lost."""


class Capturing:
    """All that is captured and not yet in S3. For the event loop's thread; a slow or broken S3 delays no request.

    `store_of` gives the store of a file. `clock` gives steady seconds. `count` gets all records that leave memory.
    """

    def __init__(
        self,
        store_of: StoreOf,
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
        self.backlog = Backlog(limits, self._arrived, self._dropped)
        self._files = OpenFiles(clock)
        self._delivery = Delivery(store_of, thread, clock, self._left)

    async def run(self) -> None:
        """Encode and send what is captured, for ever. It rests while nothing is captured."""
        while True:
            while self.backlog or self._files or self._delivery:
                await self._send_due()
                await asyncio.sleep(PERIOD_S)
            await self._some.wait()
            self._some.clear()

    def missed(self, endpoint: str, variant: str) -> None:
        """A request of the variant was to be captured, and there was no memory to keep it until its end."""
        self._count(endpoint, variant, 1, False)

    async def deliver(self) -> None:
        """Send every file that is due. Waits `FLUSH_S` for S3 at most."""
        await asyncio.wait({await self._send_due()}, timeout=FLUSH_S)

    async def _send_due(self) -> "asyncio.Task[None]":
        await self._encode()
        self._delivery.add(self._files.take_due())
        return self._delivery.start()

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

    def _arrived(self) -> None:
        self._some.set()
        if len(self.backlog) > TOGETHER:
            asyncio.get_running_loop().call_soon(self._encode_together)

    def _encode_together(self) -> None:
        if not self._turn.locked():  # else they are encoded already
            self._encode_short()

    async def _encode(self) -> None:
        """Turn the backlog into lines. One caller at a time; a caller that is cancelled loses no record."""
        async with self._turn:
            while self.backlog:
                if self.backlog.first_bytes > SHORT_BYTES:
                    await self._encode_long()
                else:
                    self._encode_short()
                await asyncio.sleep(0)

    def _encode_short(self) -> None:
        """Turn a few notes with short bodies into lines."""
        backlog, files = self.backlog, self._files
        for _ in range(TOGETHER):
            if not backlog or backlog.first_bytes > SHORT_BYTES:
                return
            line = b""
            request = backlog.first.captured()
            with outer_edge(log, UNWRITABLE, request.event_id) as edge:
                file = files.of(request)
                line = "".join(file.encoder.line(request)).encode()
                file.add(line)
            if edge.fault is not None:
                self._lost(request)
            backlog.encoded(len(line))

    async def _encode_long(self) -> None:
        """Turn one note into a line, piece by piece. If its file is sent meanwhile, the line goes into the next one."""
        request = self.backlog.first.captured()
        pieces: list[bytes] = []
        with outer_edge(log, UNWRITABLE, request.event_id) as edge:
            for piece in self._files.of(request).encoder.line(request):
                pieces.append(piece.encode())
                await asyncio.sleep(0)
            self._files.of(request).add(*pieces)
        if edge.fault is not None:
            pieces.clear()
            self._lost(request)
        self.backlog.encoded(sum(map(len, pieces)))

    def _lost(self, request: CapturedRequest) -> None:
        self._count(request.endpoint, request.variant, 1, False)

    def _dropped(self, note: Note) -> None:
        self._lost(note.captured())
        if not self._full:
            self._full = True
            log.error("records of data capture are lost: S3 does not take them as quickly as they come")

    def _left(self, file: CaptureFile, delivered: bool) -> None:
        self.backlog.released(file.size_bytes)
        self._full = self._full and not delivered
        self._count(file.endpoint, file.variant, file.records, delivered)

"""The script's side of a stream: sends parts, and makes no more of them than the instance takes."""

import socket
from collections.abc import Callable

from torpor_container.formats.script import frames
from torpor_container.formats.script.frames import FrameKind, ScriptFrame
from torpor_container.formats.script.reading import FrameReader
from torpor_container.formats.script.streamed import Streamed

LOOK_PERIOD_S = 0.02
"""A script whose caller has left makes parts for at most this long, and then its current one."""


class PartSender:
    """Sends one stream over `connection`, whose other direction `requests` reads."""

    def __init__(self, connection: socket.socket, requests: FrameReader, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._requests = requests
        self._clock = clock
        self._allowed = frames.WINDOW
        self._look_at_s = 0.0

    def send(self, streamed: Streamed, head: ScriptFrame) -> None:
        """Send the head and all parts, and close the script's iterator. It returns early if nobody takes the rest.

        Raises whatever the script raises.
        """
        try:
            self._connection.sendall(frames.encode(head))
            parts = iter(streamed)
            while self._may_make_another() and (part := next(parts, None)) is not None:
                self._connection.sendall(frames.part(part))
                self._allowed -= 1
        finally:
            streamed.close()

    def _may_make_another(self) -> bool:
        """Wait until the instance takes one more part; False if it takes none. It sees a STOP also without a wait."""
        while not self._allowed or self._should_read():
            frame = self._requests.read()
            if frame is None or frame.kind is not FrameKind.MORE:
                return False
            self._allowed += frames.parts_of(frame)
        return True

    def _should_read(self) -> bool:
        """Whether a frame has come. It looks from time to time only: to look costs about as much as to send a part."""
        now_s = self._clock()
        if now_s < self._look_at_s:
            return False
        self._look_at_s = now_s + LOOK_PERIOD_S
        return self._requests.pending()

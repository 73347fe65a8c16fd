"""The script's side of a stream: sends parts, and makes no more of them than the instance takes."""

import socket

from torpor_container.formats.script import frames
from torpor_container.formats.script.frames import FrameKind, ScriptFrame
from torpor_container.formats.script.reading import FrameReader
from torpor_container.formats.script.streamed import Streamed


class PartSender:
    """Sends one stream over `connection`, whose other direction `requests` reads."""

    def __init__(self, connection: socket.socket, requests: FrameReader) -> None:
        self._connection = connection
        self._requests = requests
        self._allowed = frames.WINDOW

    def send(self, streamed: Streamed, head: ScriptFrame) -> None:
        """Send the head and all parts, and close the script's iterator. Raises whatever the script raises. Returns early
        if nobody takes the rest."""
        try:
            self._connection.sendall(frames.encode(head))
            parts = iter(streamed)
            while self._may_make_another() and (part := next(parts, None)) is not None:
                self._connection.sendall(frames.part(part))
                self._allowed -= 1
        finally:
            streamed.close()

    def _may_make_another(self) -> bool:
        """Wait until the instance takes one more part; False if it takes none. A STOP is seen also without a wait."""
        while not self._allowed or self._requests.pending():
            frame = self._requests.read()
            if frame is None or frame.kind is not FrameKind.MORE:
                return False
            self._allowed += frames.parts_of(frame)
        return True

"""What a process inherits of a port that it serves with others. It opens and sends nothing else."""

import os
import socket
from mmap import mmap

from torpor_container.frozen_class import frozen

OWNER = 0
"""The place of the process that takes the connections that the others give away."""
NUMBER_BYTES = 4


@frozen
class SharedPort:
    """Descriptors: of the listening socket, of the board, and of the two ends of the channel by which connections are
    given and taken. The owner alone takes. `place` is this process's number on the board."""

    listener: int
    board: int
    giving: int
    taking: int | None = None
    place: int = OWNER

    @property
    def inherited(self) -> tuple[int, int, int]:
        """What another process of the port inherits."""
        return self.listener, self.board, self.giving

    def text(self, place: int) -> str:
        """As the command line of another process has it: `read` reads it."""
        return ",".join(map(str, (*self.inherited, place)))


def opened(listener: int, places: int) -> SharedPort:
    """What so many processes share of a port, as its owner has it. Its descriptors close with the process."""
    board = os.memfd_create("torpor-port")
    os.ftruncate(board, places * NUMBER_BYTES)
    taking, giving = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return SharedPort(os.dup(listener), board, giving.detach(), taking.detach())


def read(text: str) -> SharedPort:
    """Raises ValueError."""
    listener, board, giving, place = map(int, text.split(","))
    return SharedPort(listener, board, giving, place=place)


class PortBoard:
    """How many connections each process of the port has, in memory that all of them map. Each writes its own number,
    and the owner that of a process which was killed. 0 is that of a process which does not accept."""

    def __init__(self, shared: SharedPort) -> None:
        self._place = shared.place
        self._numbers = memoryview(mmap(shared.board, 0)).cast("I")
        self._connections = 0
        self._accepts = False

    def join(self) -> None:
        """This process accepts from now on."""
        self._accepts = True
        self.show(self._connections)

    def show(self, connections: int) -> None:
        """This process has so many."""
        self._connections = connections
        self._numbers[self._place] = connections + 1 if self._accepts else 0

    def leave(self) -> None:
        """This process accepts no more."""
        self._accepts = False
        self.show(self._connections)

    def ended(self, place: int) -> None:
        """The process of another place has ended."""
        self._numbers[place] = 0

    def another_has_fewer(self) -> bool:
        """Whether another process that accepts has fewer connections than this one."""
        own = self._numbers[self._place]
        return any(0 < number < own for number in self._numbers)

    def connections(self) -> list[int | None]:
        """How many each process has, by its place; None for one that does not accept."""
        return [number - 1 if number else None for number in self._numbers]

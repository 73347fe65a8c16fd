"""How many processes and threads may start, without a kernel that asks."""

import errno
import struct
from collections.abc import Callable

from torpor_container.isolation.forks import ANSWER, GO_ON, RECEIVE, ForkLimit


def test_tasks_are_counted_only_when_the_room_is_used_up() -> None:
    counts = list[int]()

    def tasks() -> int:
        counts.append(len(counts))
        return 1

    limit = ForkLimit(-1, tasks, most=4)
    assert [limit.is_full() for _ in range(3)] == [False] * 3
    assert len(counts) == 1


def test_a_full_tree_is_refused_until_it_has_room() -> None:
    living, now_s = [4], [10.0]
    limit = ForkLimit(-1, lambda: living[0], most=4, clock=lambda: now_s[0], pause=lambda s: None)
    assert limit.is_full()
    living[0] = 3
    assert limit.is_full()  # not counted again yet
    now_s[0] += 0.06
    assert not limit.is_full()
    assert limit.is_full()


def answers(tasks: Callable[[], int]) -> list[tuple[int, ...]]:
    """The answers to the question with the number 7, as the kernel gets them."""
    sent = []

    def ioctl(listener: int, request: int, message: bytearray | bytes) -> None:
        if request == RECEIVE:
            assert isinstance(message, bytearray)
            struct.pack_into("=Q", message, 0, 7)
        else:
            sent.append(ANSWER.unpack(message))

    ForkLimit(-1, tasks, most=4, pause=lambda s: None, ioctl=ioctl).answer()
    return sent


def test_a_question_is_answered_also_where_tasks_cannot_be_counted() -> None:
    def uncounted() -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    assert answers(lambda: 1) == [(7, 0, 0, GO_ON)]
    assert answers(uncounted) == [(7, 0, -errno.EAGAIN, 0)]

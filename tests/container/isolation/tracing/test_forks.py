"""How many processes and threads may start."""

import errno

from torpor_container.isolation.tracing.forks import ForkLimit


def test_tasks_are_counted_only_when_the_room_is_used_up() -> None:
    counts = list[int]()

    def tasks() -> int:
        counts.append(len(counts))
        return 1

    limit = ForkLimit(tasks, most=4)
    assert [limit.is_full() for _ in range(3)] == [False] * 3
    assert len(counts) == 1


def test_a_full_tree_is_refused_until_it_has_room() -> None:
    living, now_s = [4], [10.0]
    limit = ForkLimit(lambda: living[0], most=4, clock=lambda: now_s[0], pause=lambda s: None)
    assert limit.is_full()
    living[0] = 3
    assert limit.is_full()  # not counted again yet
    now_s[0] += 0.06
    assert not limit.is_full()
    assert limit.is_full()


def test_where_tasks_cannot_be_counted_there_is_no_room() -> None:
    def uncounted() -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    assert ForkLimit(uncounted, most=4, pause=lambda s: None).is_full()

"""The pages that a zygote fills are not written by its children."""

import subprocess
import sys

MADE = """
import gc, sys
from torpor_container.processes.holes import fill
from torpor_container.processes.memory import _mallinfo

made = [bytearray(size) for _ in range(200) for size in range(520, 4000, 40)]
small = [bytes(size) for _ in range(200) for size in range(40, 460, 16)]
del made[::2], small[::2]
gc.collect()
told = _mallinfo()
before = told()
kept = fill()
after = told()
print(before.fordblks - before.keepcost, after.fordblks - after.keepcost)
"""


def test_the_holes_of_a_parents_heap_are_filled_so_its_children_write_to_pages_of_their_own() -> None:
    before, after = map(int, subprocess.check_output((sys.executable, "-c", MADE), text=True).split())
    assert before > 1_000_000, "there were holes"
    assert after < 0.05 * before


POOLS = """
from torpor_container.processes.holes import fill

made = [bytes(100) for _ in range(3000)]
held = {id(one) // 16384 for one in made}
del made[::2]
kept = fill()
print(sum(id(bytes(99 + more % 2)) // 16384 in held for more in range(500) if not kept.append(bytes(100))))
"""


def test_the_holes_of_pythons_own_pools_are_filled_too() -> None:
    assert int(subprocess.check_output((sys.executable, "-c", POOLS), text=True)) == 0

"""Models are checked in a process of its own, and one that ends that process is refused like any other."""

import sys
from pathlib import Path

from torpor.uploads.load_check import refusals

FAKE = """
import json, os, sys
for line in sys.stdin:
    name = os.path.basename(line.strip())
    if name == "crash":
        os._exit(7)
    print(json.dumps({"path": line.strip(), "refused": "it is bad" if name == "bad" else None}), flush=True)
"""
COMMAND = (sys.executable, "-S", "-c", FAKE)


def test_each_refusal_has_its_reason_and_a_crash_ends_nothing_else() -> None:
    paths = [Path(name) for name in ("good", "crash", "bad", "crash2", "fine")]
    checked: list[str] = []
    found = refusals(paths, lambda path: checked.append(path.name), COMMAND)
    assert found == {
        Path("crash"): "the process that loaded it ended with 7: an instance would end too",
        Path("bad"): "it is bad",
    }
    assert checked == ["good", "crash", "bad", "crash2", "fine"]


def test_a_crash_at_the_end_leaves_nothing_to_check() -> None:
    assert list(refusals([Path("crash")], command=COMMAND)) == [Path("crash")]

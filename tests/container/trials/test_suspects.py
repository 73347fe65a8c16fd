"""Suspects: the model whose prediction ended an instance is known to the next one, and no other is blamed."""

import subprocess
import sys
from pathlib import Path

from torpor_container.core.trials import DEATHS_MAX, MIB, TrialStep, Verdict, step
from torpor_container.trials.suspects import judge
from torpor_container.trials.verdicts import Verdicts

GUILTY, INNOCENT = "a" * 32, "b" * 32
GOOD = Verdict()

DIES = f"""
import ctypes, os, signal, sys, threading, time
from pathlib import Path
from torpor_container.invocation import Invocation
from torpor_container.trials.suspects import Suspects

class Model:
    format, rowwise, foreign, mapped = "onnx", False, False, None
    def __init__(self, predict):
        self.invoke = predict

suspects = Suspects(Path(sys.argv[1]))
suspects.watch()
begun = threading.Event()
innocent = suspects.watched(Model(lambda call: begun.set() or time.sleep(60)), "{INNOCENT}")
threading.Thread(target=innocent.invoke, args=(None,), daemon=True).start()
begun.wait()
ends = dict(crash=lambda call: ctypes.string_at(1), killed=lambda call: os.kill(os.getpid(), signal.SIGKILL))
suspects.watched(Model(ends[sys.argv[2]]), "{GUILTY}").invoke(None)
"""


def die(folder: Path, how: str) -> None:
    """An instance ends while two models predict, by the guilty one's doing."""
    assert subprocess.run([sys.executable, "-c", DIES, str(folder), how], capture_output=True).returncode < 0


def put(folder: Path) -> Verdicts:
    verdicts = Verdicts(folder / "verdicts")
    for key in (GUILTY, INNOCENT):
        verdicts.write(key, GOOD)
    return verdicts


def test_a_model_that_crashes_instances_is_quarantined_and_its_neighbour_is_not(tmp_path: Path) -> None:
    verdicts = put(tmp_path)
    for _ in range(DEATHS_MAX):
        assert step(verdicts.read(GUILTY), MIB) is TrialStep.TRUST
        die(tmp_path, "crash")
        assert judge(tmp_path, verdicts) == GUILTY
    assert step(verdicts.read(GUILTY), MIB) is TrialStep.REFUSE
    assert "Segmentation fault" in str(verdicts.read(GUILTY))
    assert verdicts.read(INNOCENT) == GOOD


def test_no_model_is_suspected_where_an_instance_was_killed(tmp_path: Path) -> None:
    verdicts = put(tmp_path)
    die(tmp_path, "killed")
    assert judge(tmp_path, verdicts) is None
    assert judge(tmp_path / "none", verdicts) is None
    assert verdicts.read(GUILTY) == GOOD

"""A simulator in a process of its own: it may be missing, wrong, slow or busy, and the page gets one clear sentence."""

import asyncio
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.helpers.waiting import PATIENCE_S
from torpor_endpoint.core.pages.what_if import WhatIfAnswer, WhatIfQuestion, WhatIfRow
from torpor_endpoint.dashboard.simulating import Simulating
from torpor_endpoint.simulating.simulator_process import CannotSimulate

QUESTION = WhatIfQuestion("ledger.sqlite", "houses", "v", 60.0)
ANSWERS = """
import json, sys
question = json.load(sys.stdin)
print(json.dumps({"requests": 3, "rows": [{"way": question["endpoint"], "hit_ratio": 0.5}]}))
"""


def here() -> nullcontext[Path]:
    return nullcontext(Path("ledger.sqlite"))


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules a child process can run."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def asked(module: str | None, within_s: float = 30.0) -> WhatIfAnswer:
    return asyncio.run(Simulating(module, here, within_s).answer(lambda ledger: QUESTION))


def test_the_simulator_gets_the_question_and_its_answer_comes_back(written: Path) -> None:
    (written / "simulates.py").write_text(ANSWERS)
    assert asked("simulates") == WhatIfAnswer(3, (WhatIfRow("houses", 0.5),))


@pytest.mark.parametrize(
    ("module", "within_s", "said"),
    [
        (None, 30.0, "`torpor up` brings one"),
        ("fails", 30.0, "no requests to houses/v"),
        ("sleeps", 0.3, "longer than 0.3 s"),
    ],
)
def test_a_simulator_that_gives_no_answer_gives_a_reason(
    written: Path, module: str | None, within_s: float, said: str
) -> None:
    (written / "fails.py").write_text("import sys; sys.exit('no requests to houses/v')")
    (written / "sleeps.py").write_text("import time; time.sleep(60)")
    with pytest.raises(CannotSimulate, match=said):
        asked(module, within_s)


def test_one_simulation_runs_at_a_time(written: Path) -> None:
    (written / "simulates.py").write_text(ANSWERS)

    async def story() -> None:
        simulating = Simulating("simulates", here)
        first = asyncio.create_task(simulating.answer(lambda ledger: QUESTION))
        await asyncio.sleep(0)
        with pytest.raises(CannotSimulate, match="Another simulation"):
            await simulating.answer(lambda ledger: QUESTION)
        assert (await first).requests == 3

    asyncio.run(story())


def test_a_process_that_is_no_longer_needed_ends(written: Path) -> None:
    (written / "sleeps.py").write_text(
        f"import os, pathlib, time; pathlib.Path({str(written / 'pid')!r}).write_text(str(os.getpid())); time.sleep(60)"
    )

    async def story() -> None:
        work = asyncio.create_task(Simulating("sleeps", here).answer(lambda ledger: QUESTION))
        async with asyncio.timeout(PATIENCE_S):
            while not (written / "pid").exists() or not (written / "pid").read_text():
                await asyncio.sleep(0.01)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    asyncio.run(story())
    with pytest.raises(ProcessLookupError):
        os.kill(int((written / "pid").read_text()), 0)

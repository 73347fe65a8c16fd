"""Work after a verdict: it has a trial's limits and box, and writes only to what it was lent."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.processes import children, has_ended
from torpor_container.core.trials import MIB
from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions
from torpor_container.isolation.abilities import found
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.process_tree import parent
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.trials.trial_process import Afterwork, Trials

HERE = "tests.container.trials.test_afterwork"


def written(arguments: Mapping[str, Any], descriptors: list[int]) -> dict[str, int]:
    os.write(descriptors[0], arguments["text"].encode())
    return {"pid": os.getpid()}


def ended(arguments: Mapping[str, Any], descriptors: list[int]) -> dict[str, int]:
    os._exit(3)


def grown(arguments: Mapping[str, Any], descriptors: list[int]) -> dict[str, int]:
    return {"size": len(bytearray(10**11))}


def reaching(arguments: Mapping[str, Any], descriptors: list[int]) -> dict[str, int]:
    Path(arguments["path"]).write_text("it was here")
    return {}


def no_temporary_folder() -> Path:
    """A folder where everybody may write, and that is not the one for temporary files, which such work may write to."""
    temporary = Path(tempfile.gettempdir())
    return next(folder for folder in (Path("/var/tmp"), Path("/tmp")) if not temporary.is_relative_to(folder))


@asynccontextmanager
async def trials(parent: ZygoteClient, idle_s: float = 60.0) -> AsyncIterator[Trials]:
    made = Trials(MemoryBudget(1024 * MIB), 60.0, Conventions(), ZygoteAccess(str(parent.path)), os.environ, idle_s)
    try:
        yield made
    finally:
        await made.close()


def work(function: str, *descriptors: int, **arguments: str) -> Afterwork:
    return Afterwork(f"{HERE}:{function}", arguments, MIB, 64 * MIB, descriptors)


def test_it_writes_to_what_it_was_lent_and_one_process_does_it_all(tmp_path: Path, zygote: ZygoteClient) -> None:
    async def story() -> None:
        async with trials(zygote) as here:
            with (tmp_path / "made").open("wb") as file:
                one = await here.after(work("written", file.fileno(), text="flat"))
                other = await here.after(work("written", file.fileno(), text=" tree"))
        assert one == other
        assert (tmp_path / "made").read_text() == "flat tree"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("function", "said"), [("ended", "ended its process with exit code 3"), ("grown", "took more than 64 MiB")]
)
def test_work_that_fails_says_how_and_the_next_goes_on(
    function: str, said: str, tmp_path: Path, zygote: ZygoteClient
) -> None:
    async def story() -> None:
        async with trials(zygote) as here:
            with pytest.raises(LoadFailed, match=said):
                await here.after(work(function))
            with (tmp_path / "made").open("wb") as file:
                await here.after(work("written", file.fileno(), text="flat"))

    asyncio.run(story())


def test_a_process_that_waits_for_a_trial_ends_in_time_while_other_work_goes_on(
    tmp_path: Path, zygote: ZygoteClient
) -> None:
    async def story() -> None:
        async with trials(zygote, idle_s=0.5) as here:
            with (tmp_path / "made").open("wb") as file:
                worker = (await here.after(work("written", file.fileno(), text="1")))["pid"]
                here.expect()
                zygote_pid, most, alive = parent(worker) or 0, 1, 1
                while most == 1 or alive > 1:
                    await here.after(work("written", file.fileno(), text="1"))
                    alive = sum(not has_ended(pid) for pid in children(zygote_pid))
                    most = max(most, alive)

    asyncio.run(story())


@pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))
def test_it_writes_no_file_that_it_was_not_lent(zygote: ZygoteClient) -> None:
    async def story() -> None:
        async with trials(zygote) as here:
            with pytest.raises(LoadFailed, match="PermissionError"):
                await here.after(work("reaching", path=str(no_temporary_folder() / "torpor-test-reached")))

    asyncio.run(story())

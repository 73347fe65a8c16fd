"""What a script writes is its own: it sees it, nobody else does, and its next start finds what was unpacked."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.container.helpers.script_processes import write_script
from tests.helpers.waiting import soon
from torpor_container.formats import Conventions
from torpor_container.invocation import Invocation
from torpor_container.isolation.abilities import Abilities, found
from torpor_container.measuring.server_timing import Timing
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.running.scripts import Scripts
from torpor_container.settings import Settings

pytestmark = pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))

MACHINES = {"with a view": found(), "without a mount namespace": replace(found(), mounts=False)}

ON_DEMAND = """
import os, pathlib, shutil, sqlite3, tempfile
def model_fn(model_dir):
    return model_dir
def transform_fn(model, body, content_type, accept):
    space = dict(globals(), model=model)
    exec(body, space)
    return str(space.get("out")), "text/plain"
"""


def answers(
    zygote: ZygoteClient,
    model: Path,
    requests: Sequence[str],
    abilities: Abilities | None = None,
    meanwhile: Callable[[], bool] = lambda: True,
    **settings: str,
) -> list[str]:
    """The answers of one process of the model's script to these requests. It lives until `meanwhile` is true."""
    base_dir = str(model.parents[1])
    read = Settings.read({"SAGEMAKER_BASE_DIR": base_dir, "TORPOR_SCRIPT_HIDDEN": base_dir, **settings})

    async def story() -> list[str]:
        scripts = Scripts(
            read,
            MemoryBudget(read.memory_bytes),
            Conventions(),
            ZygoteAccess(str(zygote.path)),
            {},
            abilities=abilities,
        )
        runner = (await scripts.start(model, model / "inference.py", compiled_of(model))).runner
        try:
            asked = (Invocation(request.encode(), "text/plain") for request in requests)
            assert await asyncio.to_thread(soon, meanwhile, 20.0)
            return [(await runner.invoke(one, 30.0, Timing(lambda: 0.0))).body.decode() for one in asked]
        finally:
            await runner.close()

    return asyncio.run(story())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The folder of a model with a script, beside that of a neighbour."""
    folder = tmp_path / "models" / "own"
    write_script(folder, ON_DEMAND)
    write_script(folder, "unpacked", "deep/weights")
    write_script(tmp_path / "models" / "other", "another's", "model.ubj")
    return folder


def compiled_of(model: Path) -> Path:
    """The place of its compiled modules."""
    return model.parents[1] / "compiled"


def held(folder: Path) -> dict[str, tuple[str, int]]:
    """All files of a folder: what is in each, and when it last changed in whatever way."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.read_text(), path.stat().st_ctime_ns) for path in files}


CHANGES: Mapping[str, tuple[str, str]] = {
    "write a file": ("open('deep/weights', 'w').write('mine'); out = open('deep/weights').read()", "mine"),
    "add a file": ("open('m.pkl', 'w'); out = os.path.exists(model + '/m.pkl')", "True"),
    "remove its script": ("os.remove('inference.py'); out = os.path.exists('inference.py')", "False"),
    "replace a file": ("open('x', 'w'); os.replace('x', 'deep/weights'); out = open('deep/weights').read()", ""),
    "link to a neighbour": ("os.symlink('../other/model.ubj', 'm.ubj'); out = os.path.exists('m.ubj')", "False"),
    "remove a folder": ("shutil.rmtree('deep'); out = os.path.exists('deep')", "False"),
    "keep a database": ("sqlite3.connect('a.db').execute('create table a (b)'); out = os.path.exists('a.db')", "True"),
}
FIRST = """
out = sorted(set(os.listdir('.')) - {'__pycache__'}), open('deep/weights').read()
out += (os.path.exists(tempfile.gettempdir() + '/x'),)
"""


@pytest.mark.parametrize("machine", MACHINES)
def test_a_model_s_folder_is_the_script_s_to_change_and_stays_as_it_was_unpacked(
    model: Path, zygote: ZygoteClient, machine: str
) -> None:
    before = held(model.parent)
    for change, (request, told) in CHANGES.items():
        found = answers(zygote, model, [FIRST, request], MACHINES[machine])
        assert (change, *found) == (change, "(['deep', 'inference.py'], 'unpacked', False)", told)
    assert held(model.parent) == before


def test_a_large_file_is_not_copied_and_stays_as_it_is(model: Path, zygote: ZygoteClient) -> None:
    with (model / "large").open("wb") as large:
        large.truncate(65 << 20)
    before = held(model)
    size = "out = os.path.getsize('large'), os.path.getsize(os.path.realpath('large'))"
    write = "try: out = open('large', 'r+b').write(b'mine')\nexcept PermissionError: out = 'refused'"
    replace = "os.remove('large'); open('large', 'w').write('mine'); out = open('large').read()"
    told = answers(zygote, model, [size, write, replace], MACHINES["without a mount namespace"])
    assert told == [str((65 << 20, 65 << 20)), "refused", "mine"]
    assert held(model) == before


@pytest.mark.parametrize("machine", MACHINES)
def test_temporary_files_and_shared_memory_go_with_the_script(model: Path, zygote: ZygoteClient, machine: str) -> None:
    before = set(os.listdir("/dev/shm")), set(os.listdir(model.parents[1]))
    write = "open(os.path.join(tempfile.gettempdir(), 'x'), 'w'); out = os.environ['HOME'] == tempfile.gettempdir()"
    pool = "import multiprocessing\nlock = multiprocessing.Lock()\nwith lock: out = 'locked'"
    assert answers(zygote, model, [write, pool], MACHINES[machine]) == ["True", "locked"]
    assert (set(os.listdir("/dev/shm")), set(os.listdir(model.parents[1]))) == before


def test_tmp_and_dev_shm_are_the_script_s_own(model: Path, zygote: ZygoteClient) -> None:
    own = (
        "open('/tmp/torpor-here', 'w').write('x'); open('/dev/shm/torpor-here', 'w').write('x'); out = os.listdir({!r})"
    )
    assert answers(zygote, model, [own.format("/dev/shm")]) == ["['torpor-here']"]
    assert not os.path.exists("/tmp/torpor-here")
    assert not os.path.exists("/dev/shm/torpor-here")


def test_shared_memory_has_a_bound(model: Path, zygote: ZygoteClient) -> None:
    fill = "file = open('/dev/shm/x', 'wb')\ntry:\n    while True: file.write(bytes(1 << 20))\n"
    fill += "except OSError as error: out = error.strerror"
    assert answers(zygote, model, [fill], TORPOR_MEMORY_MIB="64") == ["No space left on device"]


def test_a_script_that_names_opt_ml_output_may_write_there(model: Path, zygote: ZygoteClient) -> None:
    write_script(model, f"{ON_DEMAND}\nPLACE = '/opt/ml/output'\n")
    request = "open(PLACE + '/x', 'w').write('x'); out = os.listdir(PLACE), os.path.exists('/opt/ml/model/deep')"
    for _ in range(2):
        assert answers(zygote, model, [request]) == ["(['x'], True)"]


@pytest.mark.skipif(sys.dont_write_bytecode, reason="Python keeps nothing that it compiled")
def test_the_next_start_finds_modules_that_the_guardian_compiled(model: Path, zygote: ZygoteClient) -> None:
    kept = compiled_of(model)

    def written() -> list[str]:
        return [path.name for path in model.parents[1].glob("scratch-*/model/__pycache__/*")]

    seen = list[list[str]]()

    def has_compiled() -> bool:
        if kept.exists():
            seen.append(written())
        return kept.exists()

    for _ in range(2):
        answers(zygote, model, [], meanwhile=has_compiled)
    [first], second = seen
    assert (first.partition(".")[0], second) == ("inference", [])
    assert [path.name for path in kept.glob("__pycache__/*")] == [first]

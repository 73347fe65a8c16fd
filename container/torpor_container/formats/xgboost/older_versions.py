"""Models of old versions of XGBoost, which the installed one does not read: an older one reads each once, in a process
of its own, and saves it as UBJSON, which is served from then on.

XGBoost 3.1 dropped the binary format, in which `save_model` wrote up to 1.x and `pickle` up to 1.5. XGBoost 2.1 reads
both. It is installed in a folder of its own, for one Python holds one XGBoost, and never imported here. The file that
it saved is served only if the installed XGBoost predicts the same with it, on rows that reach the model's own splits.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from math import nan
from pathlib import Path
from typing import Any, Self

import numpy as np

from torpor_container.core.work_wait import WorkWait
from torpor_container.errors import LoadFailed, LoadOutOfMemory
from torpor_container.formats.format import Conventions
from torpor_container.formats.frameworks import inherits
from torpor_container.formats.xgboost.boosters import Member
from torpor_container.waiting.process_work import looked_at

OLDER = "2.1.4"
PACKAGE = "xgboost" if sys.platform == "darwin" else "xgboost-cpu"
FOLDER = Path(sys.prefix) / "share" / "torpor" / "older-xgboost"
"""The folder of the older XGBoost."""
READER = Path(__file__).with_name("older_versions_reader.py")
TIMEOUT_S = 120.0
"""How much processor time the older one may take, and how long it may rest; see `core.work_wait`."""
LOOK_S = 0.2
KEPT = "read-by-older-xgboost"
"""A folder beside an unpacked artifact, with its converted models. It is removed with that version of the artifact."""
MODEL, PROBE, RESULT = "model.ubj", "probe.npz", "told.json"

ELSE = "or load it with the XGBoost that saved it, and save it as .json or .ubj"
EQUAL_WITHIN = 1e-5
"""The largest relative difference between both versions' predictions: they add up the trees in the same order."""


class OldModel(LoadFailed):
    """The installed XGBoost does not read this model. The message is the reason, as a sentence."""

    @classmethod
    def in_old_format(cls, path: Path) -> Self:
        return cls(_in_old_format(path.name))

    @classmethod
    def pickled(cls, path: Path, error: Exception) -> Self:
        """For a pickle. `error` is what XGBoost raised, whose text does not mention the model's age."""
        said = _message(error)
        if not said.startswith(PICKLED_CHECK):
            return cls(f"{path.name} was pickled, and XGBoost {installed()} does not read the booster in it: {said}.")
        return cls(_pickled(path.name))


PICKLED_CHECK, BINARY_CHECK = "header", "str[0] == '{'"
"""How XGBoost's messages begin for an old pickle, and for a file in the old binary format."""
GONE_CLASS = "Can't get attribute"
"""How Python's message begins where a pickle names a class that is gone."""


def hint(error: BaseException) -> str:
    """What to do about an error that a script met with a model of an old XGBoost; empty for any other error."""
    what = next(filter(None, map(_told_of, _chain(error))), "")
    return what and (
        f"{what} Save it as .json or .ubj with the XGBoost that saved it, or leave the load to Torpor: a script "
        f"without model_fn gets the model file beside it, which XGBoost {OLDER} reads."
    )


def _told_of(error: BaseException) -> str:
    if inherits(error, "xgboost", "XGBoostError"):
        said = _message(error)
        if said.startswith(PICKLED_CHECK):
            return _pickled("A model of this script")
        return _in_old_format("A model of this script") if said.startswith(BINARY_CHECK) else ""
    is_gone = isinstance(error, AttributeError) and str(error).startswith(GONE_CLASS) and "xgboost" in str(error)
    return _pickled("A model of this script") if is_gone else ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _pickled(name: str) -> str:
    return (
        f"{name} was pickled with XGBoost {PICKLED_WITH[drops_binary()]}, and XGBoost {installed()} no longer reads "
        "such pickles."
    )


def _in_old_format(name: str) -> str:
    return (
        f"{name} was saved in XGBoost's old binary format, which XGBoost 3.1 and later no longer read (XGBoost "
        f"{installed()} is installed)."
    )


PICKLED_WITH = {True: "1.5 or before", False: "0.90 or before"}
"""The versions whose pickles an XGBoost does not read, by whether it dropped the binary format."""


def drops_binary() -> bool:
    """Whether the installed XGBoost is 3.1 or later."""
    major, minor = installed().split(".")[:2]
    return (int(major), int(minor)) >= (3, 1)


def command(folder: Path = FOLDER) -> str:
    """The command that installs the older XGBoost."""
    return f"{sys.executable} -m pip install --no-deps --target {folder} {PACKAGE}=={OLDER}"


def read(path: Path, conventions: Conventions, reason: str, timeout_s: float = TIMEOUT_S) -> Member:
    """The booster in an old file or pickle: the older XGBoost converts it, and the installed one reads the result.

    Raises LoadFailed: for want of the older XGBoost with the command that installs it, else with what went wrong.
    LoadOutOfMemory where reading it took more than `conventions.memory_bytes`.
    """
    folder = Path(conventions.older_xgboost) if conventions.older_xgboost else FOLDER
    kept = path.parent.parent / KEPT / path.name
    if (known := _reopened(kept, path)) is not None:
        return known
    if not (folder / "xgboost").is_dir():
        raise LoadFailed(
            f"{reason} XGBoost {OLDER} reads it, once it is installed beside by `{command(folder)}`; {ELSE}"
        )
    with tempfile.TemporaryDirectory(prefix="older-xgboost-") as made:
        _run_reader(path, Path(made), folder, conventions.memory_bytes, timeout_s, reason)
        member = _opened(Path(made), path, reason)
        _save(Path(made), kept, path)
    return member


# -- the older one at work ---------------------------------------------------------------------------------------------
def _run_reader(path: Path, made: Path, folder: Path, memory_bytes: int, timeout_s: float, reason: str) -> None:
    arguments = [sys.executable, "-P", "-W", "ignore", str(READER), str(path), str(made), str(memory_bytes)]
    environment = {"PYTHONPATH": str(folder), "PATH": os.defpath, "OMP_NUM_THREADS": "1", "HOME": str(made)}
    process = subprocess.Popen(
        arguments,
        env=environment,
        cwd=made,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        try:
            printed = _printed(process, WorkWait(timeout_s, looked_at(process.pid)))
        except TimeoutError:
            raise LoadFailed(f"{reason} XGBoost {OLDER} did not read it within {timeout_s:g} s") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    _check(_result(made), process.returncode, printed.decode(errors="replace"), reason)


def _printed(process: "subprocess.Popen[bytes]", waiting: WorkWait) -> bytes:
    """What the reader printed, once it has ended. Raises TimeoutError for one that does not end."""
    while True:
        try:
            return process.communicate(timeout=LOOK_S)[1]
        except subprocess.TimeoutExpired:
            if waiting.gave_up(looked_at(process.pid)):
                raise TimeoutError from None


def _check(result: dict[str, Any], exit_code: int, printed: str, reason: str) -> None:
    """Raise LoadFailed or LoadOutOfMemory, unless the reader reports success."""
    if result.get("memory"):
        raise LoadOutOfMemory(f"{reason} XGBoost {OLDER} ran out of memory while it read it")
    if "error" in result or not result:
        last = next(iter(printed.strip().splitlines()[-1:]), f"exit code {exit_code}")
        raise LoadFailed(f"{reason} XGBoost {OLDER} does not read it either: {result.get('error', last)}; {ELSE}")


def _result(made: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads((made / RESULT).read_text())
    except (OSError, ValueError):
        return {}
    return result


# -- what it saved -----------------------------------------------------------------------------------------------------
def _opened(made: Path, path: Path, reason: str) -> Member:
    """The converted booster, checked to predict what the old one did. Raises LoadFailed."""
    from xgboost import Booster, DMatrix
    from xgboost.core import XGBoostError

    result = _result(made)
    try:
        booster = Booster()
        booster.load_model(bytearray((made / MODEL).read_bytes()))
        booster.set_param({"nthread": 1, "device": "cpu"})
        with np.load(made / PROBE, allow_pickle=False) as probe:
            rows, expected = probe["rows"], probe["predictions"]
        predicted = booster.predict(DMatrix(rows, nthread=1), validate_features=False, output_margin=True)
    except (XGBoostError, OSError, ValueError, KeyError) as error:
        raise LoadFailed(f"{reason} What XGBoost {OLDER} made of it cannot be used: {_message(error)}") from error
    if not np.allclose(predicted, expected, rtol=EQUAL_WITHIN, atol=EQUAL_WITHIN, equal_nan=True):
        raise LoadFailed(f"{reason} XGBoost {installed()} and {OLDER} differ in their predictions with the same trees")
    note = (
        f"{path.name} was read by XGBoost {result['version']} and is served as UBJSON, equal on {len(rows)} probe rows"
    )
    missing = result.get("missing")
    return Member(booster, nan if missing is None else float(missing), pickled=bool(result["pickled"]), note=note)


def _reopened(saved: Path, path: Path) -> Member | None:
    """The result of an earlier load of the same file."""
    result = _result(saved)
    if not result or result.get("source") != _identity(path):
        return None
    with suppress(LoadFailed):  # then it is converted anew
        return _opened(saved, path, "")
    return None


def _save(made: Path, saved: Path, path: Path) -> None:
    """Save the whole result or none. If the folder cannot be written to, the next load converts again."""
    with suppress(OSError):
        result = {**_result(made), "source": _identity(path)}
        (made / RESULT).write_text(json.dumps(result))
        saved.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=saved.parent) as beside:
            copy = shutil.copytree(made, Path(beside) / "whole")
            shutil.rmtree(saved, ignore_errors=True)
            copy.rename(saved)


def _identity(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


def installed() -> str:
    from xgboost import __version__

    return str(__version__)


def _message(error: BaseException) -> str:
    """XGBoost's message, without the place in its sources and without its stack."""
    line = next((one for one in str(error).splitlines() if one.strip()), type(error).__name__)
    return line.rpartition("Check failed: ")[2].strip().rstrip("(: ") or type(error).__name__

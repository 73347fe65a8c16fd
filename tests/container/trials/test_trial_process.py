"""Trials: a version that ends, fills or holds a process is refused with its reason, and the instance goes on."""

import asyncio
import os
import pickle
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sklearn.dummy import DummyRegressor

from benchmarks.hostile.files import KINDS, Called, Hostile, booster, of_kind
from tests.helpers.forked_starts.forked_zygotes import SharedZygote
from tests.helpers.processes import children, descendants, stop
from tests.helpers.waiting import reached
from torpor_container.artifacts.seals import Seal
from torpor_container.core.trials import MIB, Verdict, most_bytes
from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.errors import (
    ContainerError,
    LoadFailed,
    NoMemoryNow,
    Quarantined,
    QuarantinedForMemory,
    StarvedTrial,
)
from torpor_container.formats import Conventions, available, detect
from torpor_container.formats.xgboost import older_versions
from torpor_container.isolation.abilities import found
from torpor_container.measuring.effort import Effort
from torpor_container.models.in_process.proved_contents import ProvedContent
from torpor_container.models.loader import Loaded
from torpor_container.models.quarantine import STARVED_FOR_S, Quarantine, Version
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.process_tree import TRIAL, is_named, resume
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.running.runners import Runner
from torpor_container.trials.trial_process import TrialCandidate, Trials
from torpor_container.trials.verdicts import Verdicts, key_of

BUDGET_BYTES = 1024 * MIB
PATIENT_S, HANGS_S = 60.0, 0.5
"""What a trial may take: no less than it needs on a busy machine; what one that never ends gets."""


@dataclass
class Ward:
    """A quarantine, and how often it let a version be loaded."""

    quarantine: Quarantine
    verdicts: Verdicts
    folder: Path
    loads: int = 0
    zygote: SharedZygote | None = None
    others: frozenset[int] = frozenset()

    def trying(self) -> int:
        """The one process of its trials."""
        assert self.zygote is not None
        (pid,) = processes_of_trials(self.zygote) - self.others
        return pid

    async def load(self, file: Hostile, software: str = "1", name: str = "", sound: bool = False) -> Loaded:
        """Tries the file as the instance does. Raises the error that the caller gets."""
        folder = self.folder / f"{abs(hash(file.content))}{name}" / "model"
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / file.file).exists():
            (folder / file.file).write_bytes(file.content)
        known, path = detect(folder, formats=available())
        candidate = TrialCandidate(known.name, path, len(file.content))
        key = key_of(Seal.of(folder).content, software)
        tried = Version(candidate, key, True, self.verdicts.read(key), ProvedContent(None) if sound else None)
        return await (await self.quarantine.passed(tried, self._load))()

    async def told(self, file: Hostile) -> ContainerError:
        """The error that the caller gets."""
        with pytest.raises(ContainerError) as raised:
            await self.load(file)
        return raised.value

    async def unload(self, runner: Runner) -> None:
        self.loads -= 1

    async def _load(self) -> Loaded:
        self.loads += 1
        return Loaded(NO_RUNNER, 1, effort=Effort(0.0, 0.0))


def processes_of_trials(zygote: SharedZygote) -> frozenset[int]:
    return frozenset(pid for pid in descendants(zygote.pid) if is_named(pid, TRIAL))


class _NoRunner:
    """Never called."""


NO_RUNNER: Runner = _NoRunner()  # type: ignore[assignment]


@asynccontextmanager
async def ward(
    parent: SharedZygote,
    folder: Path,
    free_bytes: int = BUDGET_BYTES,
    load_timeout_s: float = PATIENT_S,
    is_quiet: Callable[[], bool] = lambda: False,
    starved_for_s: float = STARVED_FOR_S,
) -> AsyncIterator[Ward]:
    trials = Trials(
        MemoryBudget(BUDGET_BYTES), load_timeout_s, Conventions(), ZygoteAccess(str(parent.path)), os.environ
    )
    verdicts = Verdicts(folder / "verdicts")
    here = Ward(
        Quarantine(trials, verdicts, lambda: free_bytes, lambda runner: here.unload(runner), is_quiet, starved_for_s),
        verdicts,
        folder,
        zygote=parent,
        others=processes_of_trials(parent),
    )
    try:
        yield here
    finally:
        await here.quarantine.close()


def pickled(code: str) -> Hostile:
    return Hostile("a pickle", "model.pkl", pickle.dumps(Called(eval, code)))


def good() -> Hostile:
    return Hostile("good", "model.ubj", bytes(booster("classes").save_raw("ubj")))


def another() -> Hostile:
    return Hostile("another good one", "model.json", bytes(booster("classes").save_raw("json")))


def test_no_kind_of_hostile_file_is_loaded_and_a_good_one_is_after_all_of_them(
    tmp_path: Path, zygote: SharedZygote
) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path) as here:
            for kind in KINDS:
                if not any(word in kind for word in ("ONNX", "any", "size", "end")):
                    assert isinstance(await here.told(of_kind(kind)), LoadFailed | QuarantinedForMemory), kind
            assert here.loads == 0
            await here.load(good())
            assert here.loads == 1

    asyncio.run(story())


def test_onnx_that_fills_memory_or_does_not_end_is_not_loaded(tmp_path: Path, zygote: SharedZygote) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path) as here:
            large = await here.told(of_kind("ONNX, gigabytes"))
        async with ward(zygote, tmp_path, load_timeout_s=HANGS_S) as here:
            endless = await here.told(of_kind("ONNX, a loop that does not end"))
        assert "MiB of memory while it predicted one row" in str(large)
        assert "did not come to an end" in str(endless)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("__import__('os')._exit(3)", "model.pkl ended its process with exit code 3 while it loaded"),
        ("__import__('os').kill(__import__('os').getpid(), 11)", "with SIGSEGV while it loaded"),
        ("bytearray(10**11)", "took more than 128 MiB of memory while it loaded"),
    ],
)
def test_the_refusal_says_what_the_file_did(code: str, said: str, tmp_path: Path, zygote: SharedZygote) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path) as here:
            assert said in str(await here.told(pickled(code)))

    asyncio.run(story())


def test_the_refusal_says_how_long_the_file_was_tried(tmp_path: Path, zygote: SharedZygote) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path, load_timeout_s=HANGS_S) as here:
            told = await here.told(pickled("__import__('time').sleep(600)"))
        assert "model.pkl did not come to an end within 0.5 s while it loaded" in str(told)

    asyncio.run(story())


# -- a busy machine ----------------------------------------------------------------------------------------------------
SHORT_S = 0.4
"""A limit that holds a good model's trial of a few milliseconds. A process that is stopped gets no processor, as on a
machine that has none to spare."""
OLD = Path(__file__).parents[1] / "formats" / "xgboost" / "old_models" / "booster-0.90.model"
BUSY = pickled("any(iter(int, 1))")
"""It computes without an end."""


def test_a_good_model_whose_trial_gets_no_processor_for_longer_than_its_limit_is_loaded(
    tmp_path: Path, zygote: SharedZygote
) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path, load_timeout_s=SHORT_S) as here:
            await here.load(good())  # so that the next one finds a process
            stop(testing := here.trying())
            loading = asyncio.ensure_future(here.load(another()))
            assert not (await asyncio.wait({loading}, timeout=4 * SHORT_S))[0]
            resume(testing)
            await loading
            assert here.loads == 2

    asyncio.run(story())


def test_a_model_whose_trial_was_starved_is_tried_again_once_the_machine_is_quiet(
    tmp_path: Path, zygote: SharedZygote
) -> None:
    quiet = [False]

    async def story() -> None:
        async with ward(zygote, tmp_path, load_timeout_s=SHORT_S / 2, is_quiet=lambda: quiet[0]) as here:
            await here.load(another())
            stop(here.trying())
            told = await here.told(good())
            assert isinstance(told, StarvedTrial)
            assert f"did not come to an end within {SHORT_S / 2 * WALL_MULTIPLE:g} s" in str(told)
            assert str(await here.told(good())) == str(told), "it was tried again on a busy machine"
            quiet[0] = True
            await here.load(good())
            assert here.loads == 2

    asyncio.run(story())


def test_a_model_whose_trial_was_starved_is_tried_again_later_where_the_machine_is_never_quiet(
    tmp_path: Path, zygote: SharedZygote
) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path, load_timeout_s=SHORT_S / 2, starved_for_s=0.0) as here:
            await here.load(another())
            stop(here.trying())
            assert isinstance(await here.told(good()), StarvedTrial)
            await here.load(good())
            assert here.loads == 2

    asyncio.run(story())


def test_a_model_that_computes_without_an_end_is_quarantined_for_its_processor_time(
    tmp_path: Path, zygote: SharedZygote
) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path, load_timeout_s=SHORT_S) as here:
            told = await here.told(BUSY)
        assert f"did not come to an end within {SHORT_S:g} s of processor time while it loaded" in str(told)

    asyncio.run(story())


@pytest.mark.skipif(not (older_versions.FOLDER / "xgboost").is_dir(), reason="the older XGBoost is not installed")
def test_the_conversion_of_an_old_model_takes_nothing_of_the_limit_of_its_trial(
    tmp_path: Path, zygote: SharedZygote
) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path, load_timeout_s=SHORT_S) as here:
            await here.load(good())
            testing = here.trying()
            loading = asyncio.ensure_future(here.load(Hostile("old", "xgboost-model", OLD.read_bytes())))
            await reached(lambda: children(testing), look_s=0.001, within_s=60.0)
            (converter,) = children(testing)
            stop(converter)
            assert not (await asyncio.wait({loading}, timeout=3 * SHORT_S))[0]
            resume(converter)
            await loading
            assert here.loads == 2

    asyncio.run(story())


REACHING_OUT = (
    "__import__('socket').socket()",
    "__import__('socket').socket(1)",
    "__import__('os').kill(__import__('os').getppid(), 9)",
    "open(__import__('os').__file__, 'a')",
    "__import__('os').mkdir('/trial-was-here')",
)
"""The network, a Unix socket, its zygote, a module of Python, the root."""


@pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))
def test_a_trial_reaches_no_network_no_process_and_no_file_of_others(tmp_path: Path, zygote: SharedZygote) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path) as here:
            for code in REACHING_OUT:
                error = await here.told(pickled(code))
                assert isinstance(error, LoadFailed), code
                assert "PermissionError" in str(error), code
            await here.load(good())

    asyncio.run(story())


def test_a_verdict_outlives_the_instance_and_ends_with_other_software(tmp_path: Path, zygote: SharedZygote) -> None:
    async def story() -> None:
        bad = pickled(f"open({str(tmp_path / 'tries')!r}, 'a').write('x') and __import__('os')._exit(0)")
        async with ward(zygote, tmp_path) as here:
            await here.told(bad)
            await here.load(good())
        async with ward(zygote, tmp_path) as next_one:
            assert isinstance(await next_one.told(bad), Quarantined)
            assert (tmp_path / "tries").read_text() == "x"
            with pytest.raises(Quarantined):
                await next_one.load(bad, software="2")
        assert (tmp_path / "tries").read_text() == "xx"

    asyncio.run(story())


def test_a_content_that_is_known_to_be_good_costs_no_process_under_any_name(
    tmp_path: Path, zygote: SharedZygote
) -> None:
    async def story() -> None:
        async with ward(zygote, tmp_path) as here:
            await here.load(good())
        nobody = Trials(MemoryBudget(BUDGET_BYTES), 1.0, Conventions(), ZygoteAccess("/nowhere"), {})
        known = Verdicts(tmp_path / "verdicts")
        again = Ward(Quarantine(nobody, known, lambda: 0, lambda runner: asyncio.sleep(0)), known, tmp_path)
        await again.load(good(), name="another name")
        assert again.loads == 1

    asyncio.run(story())


def test_a_content_whose_bytes_show_that_it_is_sound_is_loaded_without_a_process(tmp_path: Path) -> None:
    async def story() -> None:
        nobody = Trials(MemoryBudget(BUDGET_BYTES), 1.0, Conventions(), ZygoteAccess("/nowhere"), {})
        known = Verdicts(tmp_path / "verdicts")
        here = Ward(Quarantine(nobody, known, lambda: 0, lambda runner: asyncio.sleep(0)), known, tmp_path)
        with pytest.raises(LoadFailed, match="no process could be started"):
            await here.load(good())
        await here.load(good(), sound=True)
        await here.quarantine.close()
        assert here.loads == 1
        assert len(list((tmp_path / "verdicts").iterdir())) == 1

    asyncio.run(story())


def test_a_model_that_may_fit_once_others_leave_is_not_quarantined(tmp_path: Path, zygote: SharedZygote) -> None:
    async def story() -> None:
        large = Hostile("large", "model.pkl", pickle.dumps((b"x" * 4 * MIB, Called(bytearray, 300 * MIB))))
        async with ward(zygote, tmp_path, free_bytes=0) as full:
            assert isinstance(await full.told(large), NoMemoryNow)
        async with ward(zygote, tmp_path) as empty:
            assert "has no predict method" in str(await empty.told(large))

    asyncio.run(story())


def test_the_first_trial_waits_for_its_process_and_the_next_one_for_none(tmp_path: Path, zygote: SharedZygote) -> None:
    async def waits() -> list[float]:
        async with ward(zygote, tmp_path) as here:
            loads = [await here.load(Hostile("a good one", "model.pkl", pickle.dumps(dummy))) for dummy in dummies]
        return [one.imports_s for one in loads]

    dummies = [DummyRegressor(strategy="constant", constant=value).fit([[0.0]], [value]) for value in (1.0, 2.0)]
    first_s, next_s = asyncio.run(waits())
    assert first_s > next_s == 0.0


def test_a_content_that_comes_under_many_names_at_once_is_tried_once(tmp_path: Path, zygote: SharedZygote) -> None:
    tries = tmp_path / "tries"
    counted = pickled(f"open({str(tries)!r}, 'a').write('x')")

    async def story() -> None:
        async with ward(zygote, tmp_path) as here:
            loads = [here.load(counted, name=str(number)) for number in range(20)]
            told = await asyncio.gather(*loads, return_exceptions=True)
        assert {type(one) for one in told} == {LoadFailed}  # it has no predict method
        assert tries.read_text() == "x"

    asyncio.run(story())


def test_a_truncated_verdict_is_ignored(tmp_path: Path) -> None:
    verdicts, key = Verdicts(tmp_path), key_of("content")
    verdicts.write(key, Verdict("it hung", most_bytes(BUDGET_BYTES, 10)))
    assert verdicts.read(key) == Verdict("it hung", most_bytes(BUDGET_BYTES, 10))
    (tmp_path / key).write_text((tmp_path / key).read_text()[:-5])
    assert verdicts.read(key) is None
    assert verdicts.read(key_of("none")) is None

"""Four tiers as a state machine: S3, the disk, memory and a simulated device, with any order of calls and of faults.

The disk tier, the keeper, the tier on the device and the forms are the real ones. What must hold after each step: no
model is in a tier without being in the one below it that it needs, no tier takes more than its budget, and what the
device holds is what its residency says.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from onnx import TensorProto, helper, numpy_helper

from tests.container.helpers.fake_store import FakeStore, disk_tier
from tests.container.helpers.keeper_with_fakes import SIZE_BYTES, FakeLoader, KeeperWithFakes
from tests.helpers.example_counts import tries
from torpor_container.core.eviction import policy
from torpor_container.core.residency import Residency
from torpor_container.core.turns import Sharing, Turns
from torpor_container.devices.simulated_device import MIB, SimulatedDevice, TakenBytes
from torpor_container.errors import DeviceLost, LoadFault, OutOfMemory
from torpor_container.formats import Conventions, onnx
from torpor_container.invocation import Invocation
from torpor_container.measuring.effort import CLOCKS, Effort
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.loader import Found, Loaded, Placed
from torpor_container.models.on_device.device_tier import DeviceTier, Guest
from torpor_container.models.on_device.placing import Placing
from torpor_container.processes import threads
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Predictors

T = TypeVar("T")

NAMES = "abcdefg"
IN_MEMORY = 4
"""So many models have room there."""
MODEL_BYTES = 8_000
DISK_BYTES = 50_000
"""For four or five models; one that is fetched is expected to take three times its archive of 10 KiB."""
TAKEN = TakenBytes(context=200 * MIB, kernels=50 * MIB, workspace=20 * MIB, weights=lambda own_bytes: MIB, of_rows=0)
KEPT_BYTES = 250 * MIB
"""By the context and the kernels."""
ROOM_BYTES = 82 * MIB
"""On the device, for two models: each takes a workspace for its session, one for the thread, and 1 MiB of weights."""
PREDICTED_WITHIN_BYTES = MIB // 4
"""A size that could not be measured, since a caller had given up an entry, stays the predicted one."""
names = st.sampled_from(NAMES)


def network(factor: int) -> bytes:
    """A model that answers the sum of four numbers, times a factor of its own."""
    weights = numpy_helper.from_array(np.full((4, 1), factor, np.float32), "w")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, size]) for name, size in (("x", 4), ("y", 1))]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [weights])
    ids = [helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=ids, ir_version=8, doc_string="." * MODEL_BYTES)
    return bytes(made.SerializeToString())


OBJECTS = {name: network(number) for number, name in enumerate(NAMES, 1)}


class Done(NamedTuple):
    """Work that a thread was given, and has done."""

    over: "asyncio.Future[Any]"


class AtOnce:
    """Does the work of threads as it is given, so that the same steps always come in the same order."""

    def put(self, work: Callable[..., Any], arguments: tuple[object, ...]) -> Done:
        done = Done(asyncio.get_running_loop().create_future())
        try:
            done.over.set_result(work(*arguments))
        except Exception as error:  # noqa: BLE001  it is the outcome
            done.over.set_exception(error)
        return done


class InTurn(Threads):
    """One thread that does its work so."""

    def __init__(self) -> None:
        super().__init__(1, "")
        self._turn = asyncio.Lock()

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        async with self._turn:
            await asyncio.sleep(0)
            return work(*arguments)


class LoaderOnDevice(FakeLoader):
    """Reads networks as an instance does, and gives them their forms on the device. Memory is counted, not measured."""

    def __init__(self, instance: KeeperWithFakes, placing: Placing, predictors: Predictors) -> None:
        super().__init__(instance.models)
        self.held: list[Any] = []
        self._placing = placing
        self._predictors = predictors

    async def recognise(self, placed: Placed) -> Found:
        return Found(SIZE_BYTES, partial(self._read, placed))

    async def _read(self, placed: Placed) -> Loaded:
        path, conventions = placed.directory / "model.bin", Conventions()
        form = self._placing.form_of(onnx.ONNX, path, conventions)
        assert not isinstance(form, str)
        model = onnx.load(path, conventions)
        self._placing.put_on(model, form)
        guest = Guest(form, placed.model_id, MIB)
        self.held.append(placed.name)
        runner = await self._placing.runner(
            placed.name, guest, model, self._predictors, CLOCKS, None, lambda: self.held.remove(placed.name)
        )
        return Loaded(runner, SIZE_BYTES)

    async def unload(self, runner: Any) -> Effort:
        return await runner.close() or Effort(0.0, 0.0)

    async def used_bytes(self) -> int:
        return SIZE_BYTES * len(self.held)


class Instance:
    """One life of an instance. A folder outlives it."""

    def __init__(self, folder: Path, store: FakeStore) -> None:
        clock = asyncio.get_running_loop().time
        self.device = SimulatedDevice(taken=TAKEN)
        self.on_device = Residency(KEPT_BYTES + ROOM_BYTES, policy("lru"), 4)
        self.threads = [InTurn(), InTurn()]
        tier = DeviceTier(self.device, self.on_device, self.threads[0], clock, clock)
        self.tier = tier
        self.placing = Placing(tier, self.threads[0], clock, 1)
        self.predictors = Predictors(self.threads[1], Turns[Any](Sharing()), clock)
        self.disk = disk_tier(folder, store, budget_bytes=DISK_BYTES)
        self.instance = KeeperWithFakes(IN_MEMORY, disk_tier=self.disk)
        self.loader = LoaderOnDevice(self.instance, self.placing, self.predictors)
        self.keeper = self.instance.keeper
        self.keeper._models._loader = self.loader

    async def call(self, name: str, number: int) -> float:
        """The answer to one row."""
        timing = Timing(asyncio.get_running_loop().time)
        async with self.keeper.lend(name, timing) as runner:
            row = Invocation(f"{number},1,1,1".encode(), "text/csv")
            ((answer,),) = json.loads((await runner.invoke(row, 60.0, timing)).body)
            return float(answer)

    async def settled(self) -> None:
        """Wait until nothing enters or leaves any tier."""
        await self.keeper.moves_done()
        await self.tier.close()
        await self.disk.close()

    async def ends(self) -> None:
        await self.placing.close()
        self.predictors.close()
        await self.keeper.close()
        for one in self.threads:
            one.close()

    def in_memory(self) -> set[str]:
        return {name for name, _ in self.instance.residency}


class FourTiers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="four-tiers-")
        self.runner = asyncio.Runner()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(threads, "_shared", AtOnce())
        self.store = FakeStore(**OBJECTS)
        self.room = IN_MEMORY
        self.number = 0
        self.instance = self.do(self.begun())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def begun(self) -> Instance:
        self.room = IN_MEMORY
        instance = Instance(Path(self.folder.name), self.store)
        await instance.disk.restore()
        return instance

    @rule(called=st.lists(names, min_size=1, max_size=6), given_up=st.sets(st.integers(0, 5)), turns=st.integers(0, 40))
    def calls(self, called: list[str], given_up: set[int], turns: int) -> None:
        """Several callers at once, of whom some give up after a while."""
        outcomes = self.do(self.called(called, given_up, turns))
        for place, (name, outcome) in enumerate(zip(called, outcomes, strict=True)):
            if isinstance(outcome, asyncio.CancelledError):
                assert place in given_up
            elif isinstance(outcome, BaseException):
                self.is_excused(outcome)
            else:
                assert outcome == (self.number + 3) * (NAMES.index(name) + 1), "another model's or row's answer"

    def is_excused(self, outcome: BaseException) -> None:
        """A call fails only for a reason that is there, and that the error tells."""
        device = self.instance.device
        if device.lost or device.breaks_at_run:
            assert isinstance(outcome, (DeviceLost, LoadFault)), outcome
        else:
            assert isinstance(outcome, (LoadFault, OutOfMemory)), outcome
            assert device.others_bytes or self.struck, outcome

    async def called(self, called: list[str], given_up: set[int], turns: int) -> list[Any]:
        self.number += 1
        self.struck = self.instance.device.full_at_runs > 0
        tasks = [asyncio.create_task(self.instance.call(name, self.number)) for name in called]
        for _ in range(turns):
            await asyncio.sleep(0)
        for place in given_up & set(range(len(tasks))):
            tasks[place].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        await self.instance.settled()
        return outcomes

    @rule(name=names, doubt=st.booleans())
    def reload(self, name: str, doubt: bool) -> None:
        self.do(self.retired(name, doubt))

    async def retired(self, name: str, doubt: bool) -> None:
        self.instance.keeper.retire(name, "a test reloads it", doubt)
        await self.instance.settled()

    @rule(room=st.integers(1, IN_MEMORY))
    def resize(self, room: int) -> None:
        """The instance gets less memory, or more."""
        self.room = room
        self.do(self.resized())

    async def resized(self) -> None:
        await self.instance.keeper.resize(MemoryBudget(self.room * SIZE_BYTES))
        await self.instance.settled()

    @rule(most=st.booleans())
    def others_take(self, most: bool) -> None:
        """Other processes take the device's memory: all but half a model, or all but one and a half."""
        device = self.instance.device
        left_bytes = (20 if most else 60) * MIB
        device.others_bytes = max(0, device.total_bytes - device.own_bytes() - left_bytes)

    @rule()
    def others_give(self) -> None:
        self.instance.device.others_bytes = 0

    @rule(runs=st.integers(1, 3))
    def runs_find_no_memory(self, runs: int) -> None:
        self.instance.device.full_at_runs = runs

    @rule()
    def device_breaks(self) -> None:
        self.instance.device.breaks_at_run = True

    @rule()
    def another_instance(self) -> None:
        """It comes to the same disk, and finds what was there."""
        on_disk = {name for name in NAMES if self.instance.disk.size_of(name)}
        self.do(self.instance.ends())
        self.instance = self.do(self.begun())
        assert {name for name in NAMES if self.instance.disk.size_of(name)} == on_disk

    @invariant()
    def who_is_on_the_device_is_in_memory(self) -> None:
        assert {name for name, _ in self.instance.on_device} <= self.instance.in_memory()

    @invariant()
    def no_tier_exceeds_its_budget(self) -> None:
        memory, on_device = self.instance.instance.residency, self.instance.on_device
        assert memory.planned_bytes <= self.room * SIZE_BYTES
        assert on_device.planned_bytes <= on_device.budget_bytes
        assert self.instance.disk.used_bytes <= DISK_BYTES

    @invariant()
    def the_device_holds_what_its_residency_says(self) -> None:
        sizes = [one.size_bytes for _, one in self.instance.on_device]
        assert self.instance.device.held == len(sizes)
        kept_bytes = self.instance.tier.status()["kept_bytes"]
        off_bytes = self.instance.device.own_bytes() - kept_bytes - sum(sizes)
        assert abs(off_bytes) <= PREDICTED_WITHIN_BYTES * len(sizes), (off_bytes, kept_bytes, sizes)

    @invariant()
    def nobody_holds_a_pin_and_each_runner_is_counted(self) -> None:
        for residency in (self.instance.instance.residency, self.instance.on_device):
            assert not any(one.pins for _, one in residency)
        assert sorted(self.instance.loader.held) == sorted(self.instance.in_memory())

    def teardown(self) -> None:
        for name in NAMES:
            self.do(self.retired(name, doubt=False))
        assert (self.instance.device.held, self.instance.in_memory()) == (0, set())
        self.do(self.instance.ends())
        self.runner.close()
        self.patch.undo()
        self.folder.cleanup()


FourTiers.TestCase.settings = settings(max_examples=tries(15), stateful_step_count=25, deadline=None)
TestFourTiers = FourTiers.TestCase

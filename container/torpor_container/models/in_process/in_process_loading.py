"""Loads models of known formats into this process, in their mapped form if there is one, and changes forms later."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from torpor_container.core.sizing import Prior, Sizing
from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions, Format, ServableModel
from torpor_container.formats.format import NotMapped
from torpor_container.formats.script import FORMAT as SCRIPT_FORMAT
from torpor_container.frozen_class import frozen
from torpor_container.mapped.mapped_folder import MappedFile
from torpor_container.mapped.mapped_forms import MappedForms
from torpor_container.measuring.effort import Effort, EffortClocks
from torpor_container.measuring.load_meter import Meter
from torpor_container.measuring.memory_gauge import MemoryGauge
from torpor_container.models.in_process.reading import MAPPED_SIZE, Recognised, read_and_measure
from torpor_container.models.loader import Loaded, NextForm
from torpor_container.models.quarantine import PROVED
from torpor_container.processes.import_steps import Step, reach, reached
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import InProcess
from torpor_container.trials.suspects import Suspects

if TYPE_CHECKING:
    from torpor_container.formats.on_device.device_form import DeviceForm
    from torpor_container.models.on_device.instance_device import NoDevice
    from torpor_container.models.on_device.placing import Placing

FLOOR_BYTES = 64 * 1024
"""No model counts as less: a load can fill pages that other models left, and then the process does not grow."""
MAPPED_RATIO = 0.05
"""The bytes that a mapped form takes by itself for each byte of the artifact, until one is measured."""


def priors(formats: Iterable[Format], script_workers: int) -> dict[str, Prior]:
    """What is assumed of each format, and of its mapped form. Each worker of a script has the model once more."""
    times = {SCRIPT_FORMAT.name: script_workers}
    own = {
        known.name: Prior(
            known.fixed_bytes * times.get(known.name, 1), known.bytes_per_artifact_byte * times.get(known.name, 1)
        )
        for known in formats
    }
    return own | {name + MAPPED_SIZE: Prior(prior.fixed_bytes, MAPPED_RATIO) for name, prior in own.items()}


@frozen
class Tools:
    """What an instance loads with. `loaders` are the threads that read models."""

    loaders: Threads
    predictors: Predictors
    sizing: Sizing
    meter: Meter
    gauge: MemoryGauge
    clocks: EffortClocks


class Read(NamedTuple):
    """A model in this process that no request sees yet, the file that it maps, and its form on the device, or why it
    has none there."""

    model: ServableModel
    held: MappedFile | None
    size_bytes: int
    effort: Effort
    form: "DeviceForm | str" = ""
    predicted_s: float = 0.0


class InProcessLoading:
    """The models of one instance's process."""

    def __init__(
        self,
        tools: Tools,
        conventions: Conventions,
        memory: MemoryBudget,
        batch_size: int | None,
        suspects: Suspects | None,
        forms: MappedForms | None,
        placing: "Placing | NoDevice | None" = None,
    ) -> None:
        """See `BuiltInLoader`. `batch_size` bounds the requests of one prediction. `placing` has the device, if models
        predict on one."""
        self._tools = tools
        self._conventions = conventions
        self._memory = memory
        self._batch_size = batch_size
        self._suspects = suspects
        self._forms = forms
        self._placing = placing
        self._imported: set[str] = set()

    def is_ready_for(self, found: Recognised) -> bool:
        step, frameworks = found.needs
        return reached() >= step and self._imported.issuperset(frameworks)

    async def prepare(self, found: Recognised) -> None:
        """Import what the model needs, which belongs to no model."""
        if not self.is_ready_for(found):
            step, frameworks = found.needs
            with self._tools.meter.window():  # so that it counts as no other model's memory
                await self._tools.loaders.run(_import_all, step, frameworks)
            self._imported.update(frameworks)

    def predicted_bytes(self, found: Recognised) -> int:
        """What the model is expected to take in memory, beside a file that it maps."""
        known_bytes = found.file.form.private_bytes if found.mapped else None
        if known_bytes is not None:
            return known_bytes
        return self._tools.sizing.predict(*found.sized_as, found.disk_bytes)

    async def load(self, found: Recognised) -> Loaded:
        """Raises LoadFailed, NoMemoryNow."""
        tools, held = self._tools, None
        if found.mapped and self._forms is not None:
            held = await tools.loaders.run(self._forms.take, found.file)
        elif (forms := self._forms_for(found)) is not None and forms.comes_first(found.format):
            with suppress(NotMapped):
                held = await forms.made(found.file)
        one = await self._read(found, held)
        released = partial(self._release, one.held)
        if isinstance(one.form, str):
            runner = InProcess(one.model, tools.predictors, tools.clocks, self._batch_size, released)
        else:
            runner = await self._runner_on_device(found, one, released)
        return self._told(found, runner, one)

    async def _runner_on_device(self, found: Recognised, one: Read, released: Callable[[], None]) -> InProcess:
        """The model enters the device as it is loaded. Raises LoadFault with 507 if it finds no room there."""
        from torpor_container.models.on_device.device_tier import Guest  # only where there is a device

        tools, placed, placing = self._tools, found.placed, cast("Placing", self._placing)
        assert not isinstance(one.form, str)
        guest = Guest(one.form, placed.model_id, found.disk_bytes)
        name = placed.name or placed.model_id
        return await placing.runner(name, guest, one.model, tools.predictors, tools.clocks, self._batch_size, released)

    # -- forms -----------------------------------------------------------------------------------------------------
    def _told(self, found: Recognised, runner: InProcess, one: Read) -> Loaded:
        note = getattr(one.model, "note", "") or (f"not mapped: {found.refused}" if found.refused else "")
        note = "; ".join(filter(None, (note, one.form if isinstance(one.form, str) else one.form.note)))
        next_form, mapped = self._next_form(found, runner, one), one.model.mapped
        return Loaded(
            runner,
            one.size_bytes,
            effort=one.effort,
            note=note,
            mapped=mapped,
            next_form=next_form,
            predicted_s=one.predicted_s,
        )

    def _next_form(self, found: Recognised, runner: InProcess, one: Read) -> NextForm | None:
        if (forms := self._forms_for(found)) is None:
            return None
        if one.held is None:
            mapped = partial(self._map, replace(found, mapped=True), runner, one.form)
            return None if found.is_hot else NextForm(False, 0, mapped)
        if not forms.leaves_when_hot(found.format):
            return None
        own = replace(found, mapped=False, is_hot=True)
        bytes_more = self._tools.sizing.predict(*own.sized_as, own.disk_bytes) - one.size_bytes
        return NextForm(True, bytes_more, partial(self._change, own, runner, None, one.form))

    def _forms_for(self, found: Recognised) -> MappedForms | None:
        """Where the model's mapped form is, or may be made; None if it stays as it is."""
        if self._forms is None or not found.placed.content or found.refused:
            return None
        return self._forms if self._forms.wanted(found.file) else None

    async def _map(self, found: Recognised, runner: InProcess, form: "DeviceForm | str") -> Loaded | None:
        """Make the mapped form, unless it is there, and go over to it. None if the model has none."""
        held = await self._forms.made(found.file) if self._forms is not None else None
        return await self._change(found, runner, held, form) if held is not None else None

    async def _change(
        self, found: Recognised, runner: InProcess, held: MappedFile | None, form: "DeviceForm | str"
    ) -> Loaded:
        """Have the runner go over to another form of its model. Its form on the device stays."""
        one = await self._read(found, held, form)
        await self._tools.loaders.run(runner.change(one.model, partial(self._release, one.held)))
        return self._told(found, runner, one)

    # -- reading ---------------------------------------------------------------------------------------------------
    async def _read(self, found: Recognised, held: MappedFile | None, form: "DeviceForm | str" = "") -> Read:
        """Read the mapped form that is held; else, and if it is damaged, the framework's own. `form` is what the model
        has on the device already."""
        tools, forms = self._tools, self._forms
        with ExitStack() as unless_read:
            if held is not None:
                self._memory.maps(held.size_bytes)
            unless_read.callback(self._release, held)
            try:
                same = found.mapped is (held is not None)
                one = await self._measured(found if same else replace(found, mapped=not found.mapped), held, form)
            except LoadFailed as error:
                if held is None or forms is None:
                    raise
                await tools.loaders.run(forms.damaged, found.file, error)
            else:
                unless_read.pop_all()
                return one
        return await self._measured(replace(found, mapped=False), None, form)

    def _release(self, held: MappedFile | None) -> None:
        """A model does not map its file any more."""
        if held is not None:
            self._memory.maps(-held.size_bytes)
            held.release()

    async def _measured(self, found: Recognised, held: MappedFile | None, form: "DeviceForm | str") -> Read:
        await self.prepare(found)
        tools, size_bytes = self._tools, self.predicted_bytes(found)
        conventions = self._conventions.within(self._memory.size_bytes)
        if self._placing is not None:
            form = form or await tools.loaders.run(self._placing.form_of, found.format.name, found.path, conventions)
        known = held is not None and found.file.form.private_bytes is not None
        with tools.meter.window() as alone:
            known = known or not tools.sizing.to_be_measured(*found.sized_as, found.disk_bytes)
            gauge = None if known else tools.gauge
            model, grown_bytes, effort, predicted_s = await tools.loaders.run(
                read_and_measure, found, held, conventions, gauge
            )
            if not known and alone():
                size_bytes = max(grown_bytes, FLOOR_BYTES)
                tools.sizing.measured(*found.sized_as, found.disk_bytes, size_bytes)
        if not isinstance(form, str):
            cast("Placing", self._placing).put_on(model, form)
        if self._suspects and found.tried and found.tried.kept and found.format.name not in PROVED:
            model = self._suspects.watched(model, found.tried.key)
        return Read(model, held, size_bytes, effort, form, predicted_s)


def _import_all(step: Step, modules: Sequence[str]) -> None:
    reach(step)
    for module in modules:
        import_module(module)

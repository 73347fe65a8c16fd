"""Composes one instance from its settings. Only this module makes the parts and connects them."""

import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.types import ASGIApp

from torpor_container.adapter.adapter_folders import AdapterFolders
from torpor_container.adapter.foreign_loaders import ForeignLoader, ForeignSingleLoader
from torpor_container.adapter.foreign_server import ForeignServer
from torpor_container.adapter.memory_bound import memory_bound_bytes
from torpor_container.artifacts.archives.unpack import UnpackLimits
from torpor_container.artifacts.digests import ensure_digests
from torpor_container.artifacts.location import Location, Prefix
from torpor_container.artifacts.loose import LooseFiles
from torpor_container.artifacts.stores.artifact_store import ArtifactStore
from torpor_container.artifacts.stores.folder import FolderArtifactStore
from torpor_container.artifacts.stores.url_store import ANYWHERE, UrlStore
from torpor_container.artifacts.submitted_code import Submitted, SubmittedCode, SubmittedFolder
from torpor_container.artifacts.unpacked import UnpackedArtifacts
from torpor_container.composed_stores import ComposedStores
from torpor_container.contract.contract_app import ContractApp
from torpor_container.contract.contract_invocations import ContractInvocations
from torpor_container.contract.contract_routes import Routes
from torpor_container.contract.control_means import ControlMeans
from torpor_container.core.devices.asked_device import DeviceKind
from torpor_container.core.eviction import LRU, Nobody, policy
from torpor_container.core.keepalive import keep_alive
from torpor_container.core.residency import Residency
from torpor_container.core.resting import Resting
from torpor_container.formats import Conventions
from torpor_container.image import variables
from torpor_container.image.aws_images import MAX_CONTENT_BYTES, XGBOOST_IMAGE
from torpor_container.mapped.mapped_folder import MappedFolder
from torpor_container.mapped.mapped_forms import MappedForms
from torpor_container.mapped.ways import ways_of
from torpor_container.measuring.calendar import Calendar
from torpor_container.measuring.load_meter import Meter
from torpor_container.models.built_in_loader import BuiltInLoader
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.faulty_loader import FaultyLoader
from torpor_container.models.freshness import Freshness
from torpor_container.models.journal import ON_DISK, Journal
from torpor_container.models.keep_alive import KeepAliveChore
from torpor_container.models.keeper import Keeper, WaitLimits
from torpor_container.models.loader import ModelLoader
from torpor_container.models.updating.beside_updates import BesideUpdates
from torpor_container.modes.contract_mode import ContractMode
from torpor_container.modes.kept_mode import KeptMode, Serving
from torpor_container.modes.model_reports import ModelReports, StateRequest
from torpor_container.modes.single_mode import Single
from torpor_container.processes.inherited_variables import for_foreign_code
from torpor_container.processes.memory import lean_heap
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.threads import on_thread
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.running.script_boxes import ensure_isolation
from torpor_container.running.scripts import Scripts
from torpor_container.settings import ARTIFACTS_OWN, BadSetting, Settings
from torpor_container.trials.suspects import Suspects
from torpor_container.trials.trial_process import Trials
from torpor_container.wire import InstanceStatus, MemoryChanged

if TYPE_CHECKING:
    from torpor_container.devices.device import Device
    from torpor_container.models.on_device.instance_device import NoDevice
    from torpor_container.models.on_device.placing import Placing
    from torpor_container.transport.peers.peer_tls import PeerTls

clock = time.monotonic
log = logging.getLogger(__name__)

UNLIMITED = 1_000_000
"""The platform limits how many models it loads side by side; the instance's threads limit the work."""


def _resting(settings: Settings) -> Resting | None:
    if settings.model_idle_s is None:
        return None
    return Resting(partial(keep_alive, settings.model_keep_alive, settings.model_idle_s))


def _conventions(settings: Settings, memory: MemoryBudget) -> Conventions:
    return Conventions(
        multi_model=settings.multi_model,
        default_accept=settings.default_accept,
        pickles=settings.pickles,
        trust=settings.trust,
        image=settings.image,
        strict=settings.strict,
        ensemble=settings.ensemble,
        inference_output=settings.inference_output,
        memory_bytes=memory.size_bytes,
    )


def _placing(
    settings: Settings,
    journal: Journal,
    calendar: Callable[[], float],
    environment: Mapping[str, str],
    device: "Device | None",
) -> "Placing | NoDevice | None":
    if settings.device.kind is DeviceKind.CPU:
        return None
    from torpor_container.core.devices.tier_actions import ON_DEVICE
    from torpor_container.models.on_device.instance_device import placing_of  # only where one is asked for

    return placing_of(settings, journal.writer(ON_DEVICE), clock, calendar, environment, device)


def _for_scripts(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of scripts, with those of the instance's device if it has one."""
    given = for_foreign_code(environment)
    if settings.device.kind is DeviceKind.CPU:
        return given
    from torpor_container.core.devices.script_device import device_variables

    return given | device_variables(settings.device, settings.device_bytes, given)


def body_max_bytes(settings: Settings) -> int:
    """The largest request body, in bytes. AWS's XGBoost container has its own variable, which can only lower it."""
    if settings.image != XGBOOST_IMAGE or settings.content_max_bytes is None:
        return settings.body_max_bytes
    return min(settings.content_max_bytes, MAX_CONTENT_BYTES, settings.body_max_bytes)


def end() -> None:
    """End this instance, as a container ends with its program: the endpoint starts another."""
    os.kill(os.getpid(), signal.SIGTERM)


class InstanceProcess:
    """One instance: its parts, from the loader to the routes."""

    def __init__(
        self,
        settings: Settings,
        memory: MemoryBudget | None = None,
        ended: Callable[[], None] = end,
        environment: Mapping[str, str] = os.environ,
        suspects: Suspects | None = None,
        device: "Device | None" = None,
        peers: "PeerTls | None" = None,
    ) -> None:
        """`memory` is the instance's budget; None for that of its settings. `ended` is called when a foreign
        container's process ends by itself, or another instance should replace this one. `environment` is the
        container's. `suspects` records which model predicts. `device` is one that a test simulates. `peers`
        has what the instance proves itself with to others. Raises BadSetting."""
        ensure_isolation(settings)
        ensure_digests(settings)
        lean_heap()
        self._environment = environment
        if settings.container is None:
            for note in variables.notes(environment):
                log.warning("%s", note)
        self._settings = settings
        self._memory = memory or MemoryBudget(settings.memory_bytes)
        self._suspects = suspects
        ahead_s = settings.clock_ahead_s
        self._movable = None if ahead_s is None else Calendar(clock, ahead_s)
        self._calendar = self._movable or clock
        self._journal = Journal(self._calendar, lambda: time.time() + (ahead_s or 0.0))
        conventions = _conventions(settings, self._memory)
        self._placing = _placing(settings, self._journal, self._calendar, environment, device)
        self._zygote_access = ZygoteAccess(settings.zygote, settings.whole_zygote)
        self._meter = Meter()
        self._reports = ModelReports()
        self._adapters: AdapterFolders | None = None
        self._stores = ComposedStores(settings, environment, peers)
        loader = self._make_loader(conventions, ended)
        self._built_in = loader if isinstance(loader, BuiltInLoader) else None
        self._faulty_loader = FaultyLoader(loader) if settings.faults else None
        self._loader: ModelLoader = self._faulty_loader or loader
        self._disk_tier = self._make_models_tier() if settings.model_source else None
        self._serving = self._make_serving(ended)

    def app(self, chunked: bool = False) -> ASGIApp:
        """`chunked`: see `ContractInvocations`. A container that no endpoint of Torpor's started answers so."""
        means = ControlMeans(self._movable, self._faulty_loader)
        most_bytes = body_max_bytes(self._settings)
        path_prefix = self._settings.path_prefix.rstrip("/")
        routes = Routes(self._serving, self.state, self.resize, clock, means).app(path_prefix, self._lifespan)
        app = ContractApp(ContractInvocations(self._serving, most_bytes, clock, chunked), routes, path_prefix)
        if self._stores.shared is None:
            return app
        from torpor_container.contract.shared_artifacts_app import SharedArtifactsApp  # only where one is asked for

        return SharedArtifactsApp(app, self._stores.shared, path_prefix)

    async def state(self, asked: StateRequest) -> InstanceStatus:
        """The answer to `GET /_torpor/state`."""
        fault = self._serving.fault()
        models, used_bytes = self._serving.models(), await self._loader.used_bytes()
        device = self._placing.status() if self._placing is not None else None
        status: InstanceStatus = {
            "unready": self._serving.unready(),
            "fault": fault.value if fault else None,
            "kept": isinstance(self._serving, KeptMode),
            "models": [],
            "budget_bytes": self._memory.size_bytes,
            "used_bytes": used_bytes,
            "own_bytes": max(0, used_bytes - sum(model["size_bytes"] for model in models)),
            "waiting": self._serving.waiting(),
            "disk_bytes": sum(one.used_bytes for one in (self._disk_tier, self._adapters) if one is not None),
            "disk_budget_bytes": self._settings.disk_bytes,
            "cpu_s": await self._loader.cpu_s(),
            "decisions": self._journal.after(asked.after, asked.model),
            "last_seq": self._journal.last_seq,
        }
        if device is not None:
            status["device"] = device
        if (shared := self._stores.shared) is not None:
            status["shared"] = shared.status()
        return {**status, **asked.told(models, self._reports)}

    async def resize(self, budget_bytes: int) -> MemoryChanged:
        """The answer to `POST /_torpor/memory`."""
        self._memory.size_bytes = budget_bytes
        await self._serving.resize(self._memory)
        return {"budget_bytes": self._memory.size_bytes, "used_bytes": await self._loader.used_bytes()}

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as closing:  # closes every part, the last one first, even if another raises
            closing.push_async_callback(self._zygote_access.close)
            closing.push_async_callback(self._loader.close)
            if self._disk_tier is not None:
                closing.push_async_callback(self._disk_tier.close)
            closing.push_async_callback(self._serving.close)
            if self._disk_tier is not None:
                await self._disk_tier.restore()
            if self._stores.shared is not None:
                await on_thread(self._stores.shared.kept.clear)
            if self._built_in is not None and not (self._disk_tier and self._disk_tier.used_bytes):
                self._built_in.expect_new()
            await self._serving.start()
            yield

    # -- the parts -------------------------------------------------------------------------------------------------
    def _make_loader(self, conventions: Conventions, ended: Callable[[], None]) -> ModelLoader:
        settings = self._settings
        if settings.container is None:
            # the one script of an instance may take what it had at first: its container gets that back
            at_least_bytes = 0 if settings.multi_model else settings.memory_bytes
            scripts = Scripts(
                settings,
                self._memory,
                conventions,
                self._zygote_access,
                _for_scripts(settings, self._environment),
                at_least_bytes=at_least_bytes,
            )
            trials = self._make_trials(conventions) if settings.trials else None
            forms = _forms(settings, trials) if trials is not None else None  # no form without a proof
            submitted = self._make_submitted()
            return BuiltInLoader(
                settings,
                self._memory,
                conventions,
                scripts,
                clock,
                submitted,
                self._meter,
                trials=trials,
                suspects=self._suspects,
                forms=forms,
                placing=self._placing,
            )
        base_dir = Path(settings.base_dir)
        bound = memory_bound_bytes(self._environment)
        server = ForeignServer(settings.container, base_dir, self._zygote_access, ended, bound)
        if settings.multi_model:
            return ForeignLoader(server, for_foreign_code(self._environment), clock)
        self._adapters = AdapterFolders(self._make_adapters_tier)
        return ForeignSingleLoader(server, for_foreign_code(self._environment), base_dir, clock, self._adapters)

    def _make_trials(self, conventions: Conventions) -> Trials:
        settings = self._settings
        return Trials(self._memory, settings.load_timeout_s, conventions, self._zygote_access, self._environment)

    def _make_serving(self, ended: Callable[[], None]) -> Serving:
        settings = self._settings
        patience, record = WaitLimits(settings.ready_wait_s, settings.load_timeout_s), self._journal.writer()
        if not settings.multi_model:
            name = settings.model_source.rpartition("/")[2]
            directory = Path(settings.base_dir) / "model"
            return Single(
                self._loader,
                directory,
                self._disk_tier,
                name,
                clock,
                patience,
                settings.invocation_timeout_s,
                self._calendar,
            )
        if self._disk_tier is None:
            if settings.container is not None:
                raise BadSetting(
                    "TORPOR_CONTAINER: adapter mode needs TORPOR_MODEL_SOURCE, since its keeper loads the models"
                )
            residency = Residency(self._memory.size_bytes, Nobody(), UNLIMITED, record)
            return ContractMode(self._loader, residency, self._calendar, settings.invocation_timeout_s)
        residency = Residency(
            self._memory.size_bytes, policy(settings.policy), settings.loads_max, self._journal.writer()
        )
        resting = _resting(settings)
        freshness = Freshness(self._disk_tier, self._calendar, asks_s3=settings.revalidate == "resident")
        keeper = Keeper(
            self._disk_tier,
            self._loader,
            residency,
            patience,
            clock,
            settings.model_cache,
            resting,
            freshness,
            ended,
            self._calendar,
        )
        updates = BesideUpdates(keeper, freshness, clock, renews=settings.update == "beside")
        chore = KeepAliveChore(keeper, resting, self._calendar) if resting is not None else None
        return KeptMode(keeper, updates, settings.invocation_timeout_s, chore)

    def _make_models_tier(self) -> DiskTier:
        source, many = self._settings.model_source, self._settings.multi_model
        prefix = Prefix.parse(source if many else source[: source.rfind("/") + 1])
        store, packed = self._stores.of_models(prefix), self._settings.compression != "none"
        tier = self._make_disk_tier(prefix, "models", store, self._settings.disk_bytes, packed=packed)
        if self._stores.shared is not None:
            tier.origins = self._stores.shared.origins
        return tier

    def _make_adapters_tier(self) -> DiskTier:
        """They have what the model leaves of the disk."""
        taken_bytes = 0 if self._disk_tier is None else self._disk_tier.used_bytes
        store = UrlStore(self._stores.digested)
        return self._make_disk_tier(ANYWHERE, "adapters", store, max(0, self._settings.disk_bytes - taken_bytes))

    def _make_disk_tier(
        self, prefix: Prefix, folder: str, store: ArtifactStore, disk_bytes: int, *, packed: bool = True
    ) -> DiskTier:
        settings = self._settings
        disk = UnpackedArtifacts(Path(settings.base_dir) / folder, disk_bytes, prefix.bucket)
        residency = Residency(disk_bytes, LRU(), settings.loads_max, self._journal.writer(ON_DISK))
        loose = None if packed else LooseFiles(store, prefix.bucket, _limits(self._settings))
        return DiskTier(
            prefix,
            store,
            disk,
            residency,
            _limits(self._settings),
            self._calendar,
            settings.revalidate != "off",
            self._meter,
            loose,
            *([self._built_in.look] if self._built_in else []),
        )

    def _make_submitted(self) -> Submitted | None:
        settings = self._settings
        if settings.submit_directory in ("", *ARTIFACTS_OWN):
            return None
        source = Location.parse(settings.submit_directory)
        folder = Path(settings.base_dir) / "submitted"
        if source.scheme == "s3":
            store = self._stores.of(source)
            return SubmittedCode(store, source.key, folder, settings.program, _limits(self._settings))
        local = Path(source.bucket)
        if local.is_file():
            store = FolderArtifactStore(local.parent)
            return SubmittedCode(store, local.name, folder, settings.program, _limits(self._settings))
        return SubmittedFolder(local, settings.program)


def _limits(settings: Settings) -> UnpackLimits:
    return UnpackLimits(settings.unpack_max_bytes, settings.unpack_max_ratio, settings.unpack_max_entries)


def _forms(settings: Settings, trials: Trials) -> MappedForms:
    folder = Path(settings.mapped_folder or Path(settings.base_dir) / "mapped")
    return MappedForms(MappedFolder(folder, settings.disk_bytes), trials, ways_of(settings))

"""Composes the AWS account of this machine: its stores, its callers and its services, each from those before it."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from torpor_account.aws.lazy import LazyApp
from torpor_account.aws.wire.asgi import App
from torpor_account.cloudwatch.alarms.actions import alarm_actions
from torpor_account.cloudwatch.alarms.alarm_store import Act, Alarms, nothing_to_act
from torpor_account.core.access.rates import CallRates
from torpor_account.core.outages.lease_proof import LeaseProof
from torpor_account.core.outages.loop_pulse import LoopPulse
from torpor_account.event_bus import EventBus
from torpor_account.iam.context import Iam
from torpor_account.logs.files.group_folders import Groups
from torpor_account.logs.files.log_marks import LogMarks
from torpor_account.logs.files.stream_reader import Logs
from torpor_account.metrics.registry import MetricRegistry, nothing_to_refresh
from torpor_account.moto.longtail import LongTail
from torpor_account.s3.access.embedded import EmbeddedStorage
from torpor_account.s3.object_store import ObjectStore
from torpor_account.services import SERVICES
from torpor_account.storage.data_dir import DataDir
from torpor_account.storage.databases.database import Database, DatabasePart
from torpor_account.storage.databases.opening import opened
from torpor_account.storage.deployment_secret import kept_secret
from torpor_account.storage.private import closed_to_others
from torpor_account.storage.shared_secrets import shared_secret
from torpor_account.storage.tag_store import Tags
from torpor_account.topics import Topics
from torpor_container.frozen_class import frozen

if TYPE_CHECKING:
    from torpor_account.access.callers import Callers
    from torpor_account.access.login.login_page import Look
    from torpor_account.access.page_callers import PageRight
    from torpor_account.iam.identities.directory import Directory
    from torpor_account.logs.files.log_copies import LogCopies
    from torpor_account.s3.access.remote import RemoteStorage
    from torpor_account.storage.denial_log import DenialLog


class AccountOptions(Protocol):
    """The options of `torpor up` that an account needs. `torpor_endpoint.options` says what they mean."""

    @property
    def account(self) -> str: ...

    @property
    def region(self) -> str: ...

    @property
    def data_dir(self) -> Path: ...

    @property
    def database(self) -> str | None: ...

    @property
    def standby(self) -> bool: ...

    @property
    def s3_endpoint(self) -> str | None: ...

    @property
    def auth(self) -> bool: ...

    @property
    def rate_limits(self) -> tuple[str, ...]: ...


@frozen
class AccountSurroundings:
    """What the account takes from whoever is around it: an endpoint, whose parts need the account first."""

    tables: DatabasePart
    """The tables of all records, the account's and others': they are one database."""
    epoch: Callable[[], float]
    """Gives epoch seconds."""
    ahead_s: Callable[[], float] = lambda: 0.0
    """How far that clock is ahead of real time."""
    scaling: Act = nothing_to_act
    """Runs a scaling policy, for an alarm."""
    refresh: Callable[[], Awaitable[None]] = nothing_to_refresh
    """Brings the metrics up to date before they are read."""
    writing: Callable[[], Collection[Path]] = tuple
    """The logs that a running process still writes."""
    endpoints: Callable[[], int] = lambda: 0
    """How many endpoints are in service: there is room for the metrics of all."""


class Account:
    """The parts of one account. Making them locks and opens the data folder; `close` ends it."""

    def __init__(self, options: AccountOptions, around: AccountSurroundings) -> None:
        self.options = options
        self.around = around
        self.number, self.region = options.account, options.region
        # stores
        self.folders = DataDir(options.data_dir.resolve())
        self.lock = self.folders.lock()
        self.was_open = closed_to_others(self.folders.root)
        self.pulse, self.proof = LoopPulse(), LeaseProof()
        self.database = self.opened(around.tables)
        self.tags = Tags(self.database)
        self.objects = ObjectStore(self.folders.objects, clock=around.epoch)
        self.storage = self._storage()
        # callers
        self.iam = Iam(self.database, self.tags, around.epoch)
        self.directory = self._directory() if options.auth else None
        self.denials = self._denials() if options.auth else None
        self.rates = CallRates.read(options.rate_limits)
        # metrics, alarms, logs
        self.registry = MetricRegistry(around.epoch, endpoints=around.endpoints)
        self.long_tail = LongTail(self.number)
        self.topics = Topics(self.long_tail.answer)
        self.event_bus = EventBus(self.long_tail.answer, partial(self.long_tail.asked, "events"))
        self.alarms = Alarms(self.database, self.tags, around.epoch, alarm_actions(self.topics, around.scaling))
        self.log_marks = LogMarks(around.ahead_s)
        folders = self.folders
        groups = Groups(
            folders.endpoint_logs,
            folders.component_logs,
            folders.training_logs,
            folders.transform_logs,
            folders.processing_logs,
        )
        self.logs = Logs(groups, self.log_marks, self.tags, around.epoch, around.writing)
        self.log_copies = None if options.database is None else self._log_copies()

    def opened(self, part: DatabasePart) -> Database:
        """Raises DatabaseFault, SchemaTooNew."""
        options = self.options
        return opened(part, self.folders.root, options.database, options.standby, self.pulse, self.proof)

    def deployment_secret(self) -> bytes:
        """The secret that all processes on these records share. Raises DatabaseFault, UnreadableSecret,
        OSError."""
        own = partial(kept_secret, self.folders.deployment_secret)
        if self.options.database is None:
            return own()
        return bytes.fromhex(shared_secret(self.database, "deployment", lambda: own().hex()))

    def services(self) -> dict[str, App]:
        """The account's own services by botocore's names. Each is made when its first request comes."""
        return {one.name: LazyApp(partial(one.compose, self)) for one in SERVICES}

    def cross_origin(self) -> dict[str, App]:
        """The services that allow web pages of other origins by rules of their own."""
        return {} if self.options.s3_endpoint is not None else {"s3": LazyApp(self._s3_cross_origin)}

    def callers(self, look: "Look", further: "Sequence[PageRight]" = ()) -> "Callers | None":
        """Who calls, by the directory; None where callers are not verified. See `access.callers.Callers`."""
        if self.directory is None or self.denials is None:
            return None
        from torpor_account.access.callers import Callers

        return Callers(self, self.directory, self.denials, look, further)

    def close(self) -> None:
        """Close what is open, the lock last: whoever takes the folder then has it whole."""
        with ExitStack() as closing:
            for part in (self.lock, self.objects, self.database, self.denials, self.log_copies, self.long_tail):
                if part is not None:
                    closing.callback(part.close)

    def _directory(self) -> "Directory":
        """Raises BadCredentials."""
        from torpor_account.access.root_key import root_pair
        from torpor_account.iam.identities.directory import Directory

        owner = root_pair(self.folders.credentials, None if self.options.database is None else self.database)
        return Directory(self.iam, self.number, owner)

    def _denials(self) -> "DenialLog":
        from torpor_account.storage.denial_log import DENIALS, DenialLog

        return DenialLog(self.opened(DENIALS), self.around.epoch)

    def _log_copies(self) -> "LogCopies":
        from torpor_account.logs.files.log_copies import LOG_COPIES, LogCopies

        return LogCopies(self.opened(LOG_COPIES), self.folders.logs, self.log_marks)

    def _storage(self) -> "EmbeddedStorage | RemoteStorage":
        """The S3 that holds artifacts: the account's own, or another."""
        if self.options.s3_endpoint is None:
            return EmbeddedStorage(self.objects)
        from torpor_account.s3.access.remote import RemoteStorage

        return RemoteStorage.at(self.options.s3_endpoint, self.region)

    def _s3_cross_origin(self) -> App:
        from torpor_account.s3.service import service

        return service(self.objects, self.iam, account=self.number, region=self.region).cross_origin


def compose(options: AccountOptions, around: AccountSurroundings) -> Account:
    """The account with these options. Raises DataDirInUse, DatabaseFault, SchemaTooNew, BadCredentials."""
    return Account(options, around)

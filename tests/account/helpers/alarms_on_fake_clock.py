"""CloudWatch with alarms in this process: the clock is a number, and actions are recorded."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torpor_account.aws.in_process import client
from torpor_account.cloudwatch.alarms.alarm_record import Alarm, StateChange
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.alarms.watch import Watch
from torpor_account.cloudwatch.service import CloudWatch, service
from torpor_account.metrics.registry import MetricRegistry, nothing_to_refresh
from torpor_account.storage.account_tables import ACCOUNT_TABLES
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.tag_store import Tags

NOON_S = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
TOPIC = "arn:aws:sns:us-east-1:123456789012:pager"
BROKEN = "arn:aws:sns:us-east-1:123456789012:broken"
BUSY: dict[str, Any] = {
    "AlarmName": "busy",
    "Namespace": "shop",
    "MetricName": "Orders",
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 1.0,
    "ComparisonOperator": "GreaterThanThreshold",
}


@dataclass
class AlarmsOnFakeClock:
    """`acted` has the alarm, the states before and after, and the action. The action BROKEN fails."""

    path: Path | str = ":memory:"
    now_s: float = NOON_S
    acted: list[tuple[str, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.database = SqliteFile(self.path, ACCOUNT_TABLES)
        self.registry = MetricRegistry(lambda: self.now_s)
        self.tags = Tags(self.database)
        self.alarms = Alarms(self.database, self.tags, lambda: self.now_s, self._act)
        self.service = service(CloudWatch(self.registry), self.alarms, account="123456789012")
        self.watch = Watch(self.alarms, self.registry, nothing_to_refresh, self._pause)

    def client(self, protocol: str | None = None) -> Any:
        """Takes half a second to make: one for all tests of a module."""
        return client(self.service, protocol=protocol)

    def begin_anew(self) -> None:
        for alarm in self.alarms.all():
            self.alarms.remove(alarm.name)
        self.registry.forget({})
        self.acted.clear()
        self.now_s = NOON_S

    async def after(self, seconds: float) -> None:
        """Every ten seconds of them, as the chore does, look."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s += 10
            await self.watch.look()

    async def _act(self, alarm: Alarm, change: StateChange) -> None:
        if change.action == BROKEN:
            raise OSError("no line")
        self.acted.append((alarm.name, change.before.state, change.after.state, change.action))

    async def _pause(self, seconds: float) -> None:
        self.now_s += seconds

"""The record of an alarm as frozen values: its request, its standing and its history."""

from dataclasses import replace
from enum import StrEnum
from typing import Any

from torpor_account.core.alarms import State
from torpor_container.frozen_class import frozen

HISTORY_MAX = 100
"""The most entries in the history of each alarm. AWS keeps thirty days."""


class HistoryKind(StrEnum):
    """The values of HistoryItemType."""

    CONFIGURATION = "ConfigurationUpdate"
    STATE = "StateUpdate"
    ACTION = "Action"


@frozen
class HistoryItem:
    """One entry of an alarm's history."""

    at_s: float
    kind: HistoryKind
    summary: str
    data: str  # JSON


@frozen
class Standing:
    """An alarm's state, with its time in epoch seconds and its reason. `reason_data` is JSON."""

    state: State
    since_s: float
    reason: str
    reason_data: str | None = None


@frozen
class StateChange:
    """A change of state for one action: the standings before and after, and the action's ARN."""

    before: Standing
    after: Standing
    action: str


@frozen
class Alarm:
    name: str
    arn: str
    configured_s: float
    request: dict[str, Any]  # PutMetricAlarm's members as sent, for DescribeAlarms; `shapes` reads them
    actions_enabled: bool
    standing: Standing
    history: tuple[HistoryItem, ...] = ()  # oldest first

    def noting(self, *entries: HistoryItem) -> "Alarm":
        return replace(self, history=(self.history + entries)[-HISTORY_MAX:])

"""Stores the alarms in the endpoint's database, and changes their states: a new state runs the alarm's actions."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from torpor_account.cloudwatch.alarms.alarm_record import (
    Alarm,
    HistoryItem,
    HistoryKind,
    Standing,
    StateChange,
)
from torpor_account.cloudwatch.alarms.shapes import actions
from torpor_account.core.alarms import State
from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_account.storage.tag_store import Tags
from torpor_container.frozen_class import frozen

Act = Callable[[Alarm, StateChange], Awaitable[None]]
"""Runs one action of an alarm. An exception goes to the log and to the alarm's history."""

log = logging.getLogger(__name__)


class NoSuchAction(Exception):
    """Torpor cannot run this action."""


async def nothing_to_act(alarm: Alarm, change: StateChange) -> None:
    """The default `Act`, which can run no action."""
    raise NoSuchAction(f"Torpor cannot run the action {change.action}")


class Alarms:
    """Any thread may call the plain functions. `clock` gives epoch seconds."""

    def __init__(self, database: Database, tags: Tags, clock: Callable[[], float], act: Act = nothing_to_act) -> None:
        self._table = RecordTable(database, "alarms", Alarm, key=str)  # two names that differ in case are two alarms
        self._act = act
        self.clock = clock
        self.tags = tags

    def get(self, name: str) -> Alarm | None:
        return self._table.get(name)

    def all(self) -> tuple[Alarm, ...]:
        """All alarms, in order of name."""
        return self._table.all()

    def going_off(self, names: Iterable[str]) -> list[str]:
        """Those of these alarms that are in ALARM. One that was deleted, or lacks data, is not."""
        found = ((name, self._table.get(name)) for name in names)
        return [name for name, alarm in found if alarm is not None and alarm.standing.state is State.ALARM]

    def add(self, alarm: Alarm) -> bool:
        return self._table.add(alarm)

    def change(self, name: str, made: Callable[[Alarm], Alarm]) -> tuple[Alarm, Alarm] | None:
        """Change an alarm, and return it before and after; None if there is none. `made` is called again if another
        thread changes the alarm meanwhile."""
        while (stored := self._table.get(name)) is not None:
            changed = made(stored)
            if self._table.replace(changed, still=stored.__eq__):
                return stored, changed
        return None

    def remove(self, name: str) -> None:
        alarm = self._table.get(name)
        if alarm is not None and self._table.remove(name):
            self.tags.forget(alarm.arn)

    async def enter(self, name: str, standing: Standing) -> None:
        """Give the alarm a new standing. If its state changes and its actions are enabled, run them."""
        changed = await asyncio.to_thread(self.change, name, _Entering(standing))
        if changed is None or changed[0].standing.state is changed[1].standing.state:
            return
        before, alarm = changed
        due = actions(alarm.request, standing.state) if alarm.actions_enabled else []
        changes = [StateChange(before.standing, alarm.standing, action) for action in due]
        outcomes = await asyncio.gather(*(self._act(alarm, change) for change in changes), return_exceptions=True)
        entries = [_acted(alarm, *pair, self.clock()) for pair in zip(due, outcomes, strict=True)]
        if entries:
            await asyncio.to_thread(self.change, name, lambda stored: stored.noting(*entries))


@frozen
class _Entering:
    """The change of an alarm to a new standing, from the standing that it has at that moment."""

    standing: Standing

    def __call__(self, alarm: Alarm) -> Alarm:
        old, new = alarm.standing, self.standing
        if old.state is new.state:
            return replace(alarm, standing=replace(new, since_s=old.since_s))
        summary = f"Alarm updated from {old.state} to {new.state}"
        data = {"version": "1.0", "oldState": _state(old), "newState": _state(new)}
        entry = HistoryItem(new.since_s, HistoryKind.STATE, summary, json.dumps(data))
        return replace(alarm, standing=new).noting(entry)


def _state(standing: Standing) -> dict[str, str]:
    return {"stateValue": standing.state, "stateReason": standing.reason}


def _acted(alarm: Alarm, action: str, outcome: BaseException | None, now_s: float) -> HistoryItem:
    if outcome is not None:
        trace = None if isinstance(outcome, NoSuchAction) else outcome
        log.error("the action %s of the alarm %s failed: %s", action, alarm.name, outcome, exc_info=trace)
    done = "Successfully executed" if outcome is None else "Failed to execute"
    error = str(outcome)[:500] if outcome is not None else None
    data = {"actionState": "Failed" if error else "Succeeded", "notificationResource": action, "error": error}
    return HistoryItem(now_s, HistoryKind.ACTION, f"{done} action {action}"[:255], json.dumps(data))

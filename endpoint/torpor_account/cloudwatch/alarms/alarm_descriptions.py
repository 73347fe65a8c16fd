"""The operations that show alarms: all alarms, those of one metric, and their histories."""

from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.paging import cut
from torpor_account.cloudwatch import errors
from torpor_account.cloudwatch.alarms.alarm_record import Alarm, HistoryItem
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.alarms.shapes import ACTIONS, shape
from torpor_account.cloudwatch.lookup import pairs

METRIC_ALARM = "MetricAlarm"
ALARMS_PAGE = 50
HISTORY_PAGE = 100


def describe_alarms(alarms: Alarms, call: Call) -> dict[str, Any]:
    params = call.params
    if "AlarmNames" in params and "AlarmNamePrefix" in params:
        raise errors.COMBINATION("AlarmNames and AlarmNamePrefix cannot both be specified.")
    composite = "ChildrenOfAlarmName" in params or "ParentsOfAlarmName" in params  # there are no composite alarms
    other_types = METRIC_ALARM not in params.get("AlarmTypes", [METRIC_ALARM])
    found = [] if composite or other_types else [alarm for alarm in alarms.all() if _matches(alarm, params)]
    page, next_token = cut(found, *_place(params, ALARMS_PAGE))
    return {"MetricAlarms": [shape(alarm) for alarm in page], "CompositeAlarms": [], "NextToken": next_token}


def describe_alarms_for_metric(alarms: Alarms, call: Call) -> dict[str, Any]:
    """The alarms on one metric, without alarms on expressions."""
    return {"MetricAlarms": [shape(alarm) for alarm in alarms.all() if _watches(alarm, call.params)]}


def describe_alarm_history(alarms: Alarms, call: Call) -> dict[str, Any]:
    params = call.params
    other_types = METRIC_ALARM not in params.get("AlarmTypes", [METRIC_ALARM])
    entries = [
        (alarm.name, entry)
        for alarm in ([] if other_types else alarms.all())
        if params.get("AlarmName") in (None, alarm.name)
        for entry in alarm.history
        if _in_span(entry, params)
    ]
    newest_first = params.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    entries.sort(key=lambda pair: pair[1].at_s)
    page, next_token = cut(entries[::-1] if newest_first else entries, *_place(params, HISTORY_PAGE))
    return {"AlarmHistoryItems": [_item(*pair) for pair in page], "NextToken": next_token}


def _matches(alarm: Alarm, params: dict[str, Any]) -> bool:
    actions = [action for name in ACTIONS.values() for action in alarm.request.get(name, [])]
    return (
        ("AlarmNames" not in params or alarm.name in params["AlarmNames"])
        and alarm.name.startswith(params.get("AlarmNamePrefix", ""))
        and params.get("StateValue") in (None, alarm.standing.state)
        and ("ActionPrefix" not in params or any(action.startswith(params["ActionPrefix"]) for action in actions))
    )


def _watches(alarm: Alarm, params: dict[str, Any]) -> bool:
    request = alarm.request
    filters = ("Statistic", "ExtendedStatistic", "Period", "Unit")
    return (
        all(request.get(name) == params[name] for name in ("Namespace", "MetricName"))
        and pairs(request.get("Dimensions", [])) == pairs(params.get("Dimensions", []))
        and all(params.get(name) in (None, request.get(name)) for name in filters)
    )


def _in_span(entry: HistoryItem, params: dict[str, Any]) -> bool:
    of_kind = params.get("HistoryItemType") in (None, entry.kind)
    return of_kind and params.get("StartDate", entry.at_s) <= entry.at_s <= params.get("EndDate", entry.at_s)


def _item(name: str, entry: HistoryItem) -> dict[str, Any]:
    return {
        "AlarmName": name,
        "AlarmType": METRIC_ALARM,
        "Timestamp": entry.at_s,
        "HistoryItemType": entry.kind,
        "HistorySummary": entry.summary,
        "HistoryData": entry.data[:4095],
    }


def _place(params: dict[str, Any], records: int) -> tuple[str | None, int, AwsError]:
    return params.get("NextToken"), params.get("MaxRecords", records), errors.BAD_TOKEN()

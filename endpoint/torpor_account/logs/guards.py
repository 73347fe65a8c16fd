"""Refuses operations that moto answers if they name one of Torpor's log groups, which moto does not know."""

from collections.abc import Iterator
from typing import Any

from torpor_account.aws.calls import Call, Guard
from torpor_account.core.access.rights.log_group_names import log_group_name
from torpor_account.logs import errors
from torpor_account.logs.files.group_folders import is_ours
from torpor_account.logs.files.stream_reader import Logs

NAMES = ("logGroupName", "logGroupIdentifier", "resourceIdentifier")
LISTS = ("logGroupNames", "logGroupIdentifiers", "logGroupArnList")
"""The members by which the operations of Logs name groups."""

GUARDED = (
    *("CreateLogStream", "PutLogEvents", "GetLogGroupFields", "PutBearerTokenAuthentication"),
    *("StartQuery", "StartLiveTail", "DescribeQueries", "PutQueryDefinition", "CreateExportTask"),
    *("CreateScheduledQuery", "UpdateScheduledQuery", "CreateLogAnomalyDetector"),
    *("AssociateKmsKey", "DisassociateKmsKey", "PutLogGroupDeletionProtection"),
    *("PutMetricFilter", "DescribeMetricFilters", "DeleteMetricFilter"),
    *("PutSubscriptionFilter", "DescribeSubscriptionFilters", "DeleteSubscriptionFilter"),
    *("PutSyslogConfiguration", "ListSyslogConfigurations", "DeleteSyslogConfiguration"),
    *("PutDataProtectionPolicy", "GetDataProtectionPolicy", "DeleteDataProtectionPolicy"),
    *("PutIndexPolicy", "DescribeIndexPolicies", "DeleteIndexPolicy", "DescribeFieldIndexes"),
    *("PutTransformer", "GetTransformer", "DeleteTransformer"),
)


def refused(logs: Logs, call: Call) -> None:
    """Raises InvalidParameterException if the call names one of Torpor's log groups."""
    for name in map(log_group_name, _named(call.params)):
        if is_ours(name):
            raise errors.INVALID(f"Torpor does not implement {call.operation} for {name}, whose writers are its own.")


def _named(params: dict[str, Any]) -> Iterator[str]:
    yield from (params[member] for member in NAMES if member in params)
    for member in LISTS:
        yield from params.get(member, [])


GUARDS: dict[str, Guard[Logs]] = dict.fromkeys(GUARDED, refused)

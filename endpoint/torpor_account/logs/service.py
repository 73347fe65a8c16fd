"""CloudWatch Logs as a service: its operations in one table. Log groups that are not ours are somebody else's."""

from torpor_account.aws.calls import Operation, Otherwise
from torpor_account.aws.service import Service
from torpor_account.logs import group_operations, log_descriptions
from torpor_account.logs.files.stream_reader import Logs
from torpor_account.logs.filter_log_events import filter_log_events
from torpor_account.logs.get_log_events import get_log_events
from torpor_account.logs.guards import GUARDS

KEPT = ("logGroups", "logStreams", "events", "searchedLogStreams", "tags")
"""What callers index without asking whether it is there."""

OPERATIONS: dict[str, Operation[Logs]] = {
    "CreateLogGroup": group_operations.create_log_group,
    "DescribeLogGroups": log_descriptions.describe_log_groups(None),
    "DeleteLogGroup": group_operations.delete_log_group,
    "DescribeLogStreams": log_descriptions.describe_log_streams,
    "DeleteLogStream": group_operations.delete_log_stream,
    "GetLogEvents": get_log_events,
    "FilterLogEvents": filter_log_events,
    "PutRetentionPolicy": group_operations.put_retention_policy,
    "DeleteRetentionPolicy": group_operations.delete_retention_policy,
    "TagResource": group_operations.tag_resource,
    "UntagResource": group_operations.untag_resource,
    "ListTagsForResource": group_operations.list_tags_for_resource,
    "TagLogGroup": group_operations.tag_log_group,
    "UntagLogGroup": group_operations.untag_log_group,
    "ListTagsLogGroup": group_operations.list_tags_log_group,
}


def service(logs: Logs, *, account: str, otherwise: Otherwise | None = None) -> Service[Logs]:
    """`otherwise` keeps the other groups; where all are listed, it is asked for its own."""
    operations = {**OPERATIONS, "DescribeLogGroups": log_descriptions.describe_log_groups(otherwise)}
    return Service("logs", logs, operations, account=account, kept=KEPT, otherwise=otherwise, guards=GUARDS)

"""CloudWatch Logs as a service: its operations in one table. Log groups that are not ours are somebody else's."""

from torpor_account.aws.calls import Operation, Otherwise
from torpor_account.aws.service import Service
from torpor_account.logs import describing, keeping
from torpor_account.logs.files.reading import Logs
from torpor_account.logs.filter_log_events import filter_log_events
from torpor_account.logs.get_log_events import get_log_events
from torpor_account.logs.guards import GUARDS

KEPT = ("logGroups", "logStreams", "events", "searchedLogStreams", "tags")
"""What callers index without asking whether it is there."""

OPERATIONS: dict[str, Operation[Logs]] = {
    "CreateLogGroup": keeping.create_log_group,
    "DescribeLogGroups": describing.describe_log_groups(None),
    "DeleteLogGroup": keeping.delete_log_group,
    "DescribeLogStreams": describing.describe_log_streams,
    "DeleteLogStream": keeping.delete_log_stream,
    "GetLogEvents": get_log_events,
    "FilterLogEvents": filter_log_events,
    "PutRetentionPolicy": keeping.put_retention_policy,
    "DeleteRetentionPolicy": keeping.delete_retention_policy,
    "TagResource": keeping.tag_resource,
    "UntagResource": keeping.untag_resource,
    "ListTagsForResource": keeping.list_tags_for_resource,
    "TagLogGroup": keeping.tag_log_group,
    "UntagLogGroup": keeping.untag_log_group,
    "ListTagsLogGroup": keeping.list_tags_log_group,
}


def service(logs: Logs, *, account: str, otherwise: Otherwise | None = None) -> Service[Logs]:
    """`otherwise` keeps the other groups; where all are listed, it is asked for its own."""
    operations = {**OPERATIONS, "DescribeLogGroups": describing.describe_log_groups(otherwise)}
    return Service("logs", logs, operations, account=account, kept=KEPT, otherwise=otherwise, guards=GUARDS)

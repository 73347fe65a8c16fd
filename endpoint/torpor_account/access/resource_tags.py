"""Finds the tags of a resource for policies. What moto keeps, it keeps to itself: nobody here knows those tags."""

from collections.abc import Callable, Mapping

from torpor_account.core.access.rights.log_group_names import log_group_name
from torpor_account.logs.files.group_folders import is_ours

LOGS = "arn:aws:logs:"
STREAM = ":log-stream:"


def known_tags(stored: Callable[[str], Mapping[str, str]]) -> Callable[[str], Mapping[str, str] | None]:
    """Takes what returns the stored tags of an ARN. Returns a function that gives None where the tags are not known.

    A log stream has the tags of its group.
    """

    def tags_of(arn: str) -> Mapping[str, str] | None:
        if not arn.startswith(LOGS):
            return stored(arn)
        group = arn.partition(STREAM)[0]
        return stored(group) if is_ours(log_group_name(group)) else None

    return tags_of

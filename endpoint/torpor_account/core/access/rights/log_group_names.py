"""The names of log groups, as callers and policies spell them."""

import re

LOG_GROUP_ARN = re.compile(r"arn:aws[a-z-]*:logs:[^:]*:[^:]*:log-group:([^:]+)(?::\*)?")


def log_group_name(identifier: str) -> str:
    """The name of a log group that a call names by its name or its ARN."""
    arn = LOG_GROUP_ARN.fullmatch(identifier)
    return arn[1] if arn else identifier

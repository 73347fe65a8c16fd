"""The users and roles that trust policies and the policies of buckets name.

AWS: they must exist when the policy is stored, and the policy keeps their unique ids: who gets the name of a deleted
user or role later is not meant.
"""

import re

from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.policy_statements import ANYONE, AccessPolicy
from torpor_account.iam.context import Iam

ACCOUNT = re.compile(r"\d{12}|arn:aws:iam::\d{12}:root", re.ASCII)
SOMEBODY = re.compile(r"arn:aws:(?:iam|sts)::(?P<account>\d{12}|cloudfront):(?P<kind>[a-z-]+)/(?P<path>.+)", re.ASCII)


def ids_named(iam: Iam, account: str, policy: AccessPolicy) -> dict[str, str]:
    """The unique ids of the users and roles that a policy names, by ARN. Nobody knows those of another account.

    Raises BadPolicy for one that does not exist.
    """
    named = {arn for one in policy.statements if one.principals is not None for arn in one.principals.of_aws}
    found = {}
    for arn in sorted(named):
        if arn == ANYONE or ACCOUNT.fullmatch(arn):
            continue
        parts = SOMEBODY.fullmatch(arn)
        if parts is not None and parts["account"] != account:
            continue
        unique_id = None if parts is None else _id_of(iam, account, arn, parts["kind"], parts["path"])
        if unique_id is None:
            raise BadPolicy(f'Invalid principal in policy: "AWS":"{arn}"')
        found[arn] = unique_id
    return found


def _id_of(iam: Iam, account: str, arn: str, kind: str, path: str) -> str | None:
    name = path.rpartition("/")[2]
    match kind:
        case "user":
            user = iam.users.get(name)
            return user.user_id if user is not None and user.arn(account) == arn else None
        case "role":
            role = iam.roles.get(name)
            return role.role_id if role is not None and role.arn(account) == arn else None
        case "assumed-role":
            of, _, session = path.partition("/")
            role = iam.roles.get(of)
            return f"{role.role_id}:{session}" if role is not None and session and "*" not in session else None
    return None

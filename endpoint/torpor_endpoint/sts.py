"""STS: who the caller is, and temporary credentials for any role. Everybody is one assumed role; nothing is checked.

The SageMaker SDK's `get_execution_role` refuses an identity that is not a role.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.aws.service import Call, Operation, Service

ROLE = "TorporRole"
SESSION = "torpor"
ROLE_ID = "AROATORPORTORPORTORP"
SESSION_S = 3600


@dataclass(frozen=True)
class Sts:
    clock: Callable[[], float]


def get_caller_identity(sts: Sts, call: Call) -> dict[str, Any]:
    arn = f"arn:aws:sts::{call.account}:assumed-role/{ROLE}/{SESSION}"
    return {"UserId": f"{ROLE_ID}:{SESSION}", "Account": call.account, "Arn": arn}


def assume_role(sts: Sts, call: Call) -> dict[str, Any]:
    """Credentials that this endpoint takes, as it takes any."""
    role, session = call.params["RoleArn"], call.params["RoleSessionName"]
    parts = role.split(":", 5)
    if len(parts) < 6 or not parts[5].startswith("role/"):
        raise AwsError("ValidationError", 400, f"{role} is invalid")
    name = parts[5].rpartition("/")[2]
    return {
        "Credentials": {
            "AccessKeyId": f"ASIA{secrets.token_hex(8).upper()}",
            "SecretAccessKey": secrets.token_urlsafe(30),
            "SessionToken": secrets.token_urlsafe(60),
            "Expiration": sts.clock() + call.params.get("DurationSeconds", SESSION_S),
        },
        "AssumedRoleUser": {
            "AssumedRoleId": f"{ROLE_ID}:{session}",
            "Arn": f"arn:aws:sts::{parts[4]}:assumed-role/{name}/{session}",
        },
    }


OPERATIONS: dict[str, Operation[Sts]] = {
    "GetCallerIdentity": get_caller_identity,
    "AssumeRole": assume_role,
}


def sts_service(clock: Callable[[], float], *, account: str) -> Service[Sts]:
    return Service("sts", Sts(clock), OPERATIONS, account=account)

"""STS without `--auth`: everybody is one assumed role, and gets temporary credentials; nothing is checked.

The SageMaker SDK's `get_execution_role` refuses an identity that is not a role.
"""

import base64
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.core.access.rights.right_rows import DEFAULT_ROLE
from torpor_account.iam.identities.ids import ROLE_ID
from torpor_account.sts import errors

SESSION = "torpor"

ROLE_SESSION_S = 3600
USER_SESSION_S = 43200
"""How long credentials hold if the caller does not say: those of a role, and those of a user."""


@dataclass(frozen=True)
class Sts:
    clock: Callable[[], float]


def get_caller_identity(sts: Sts, call: Call) -> dict[str, Any]:
    arn = f"arn:aws:sts::{call.account}:assumed-role/{DEFAULT_ROLE}/{SESSION}"
    return {"UserId": f"{ROLE_ID}:{SESSION}", "Account": call.account, "Arn": arn}


def assume_role(sts: Sts, call: Call) -> dict[str, Any]:
    return {
        "Credentials": _credentials(sts, call, ROLE_SESSION_S),
        "AssumedRoleUser": _assumed_role_user(call),
        "SourceIdentity": call.params.get("SourceIdentity"),
    }


def assume_role_with_web_identity(sts: Sts, call: Call) -> dict[str, Any]:
    """Credentials for a web identity. The answer repeats the claims of a JWT, which are not verified."""
    claims = _claims(call.params["WebIdentityToken"])
    return {
        "Credentials": _credentials(sts, call, ROLE_SESSION_S),
        "AssumedRoleUser": _assumed_role_user(call),
        "SubjectFromWebIdentityToken": claims.get("sub"),
        "Audience": claims.get("aud"),
        "Provider": call.params.get("ProviderId", claims.get("iss")),
    }


def get_session_token(sts: Sts, call: Call) -> dict[str, Any]:
    return {"Credentials": _credentials(sts, call, USER_SESSION_S)}


def get_federation_token(sts: Sts, call: Call) -> dict[str, Any]:
    name = call.params["Name"]
    user = {
        "FederatedUserId": f"{call.account}:{name}",
        "Arn": f"arn:aws:sts::{call.account}:federated-user/{name}",
    }
    return {"Credentials": _credentials(sts, call, USER_SESSION_S), "FederatedUser": user}


def get_access_key_info(sts: Sts, call: Call) -> dict[str, Any]:
    """Any key is this account's."""
    return {"Account": call.account}


def _credentials(sts: Sts, call: Call, holds_s: int) -> dict[str, Any]:
    """Credentials that this endpoint takes, as it takes any."""
    return {
        "AccessKeyId": f"ASIA{secrets.token_hex(8).upper()}",
        "SecretAccessKey": secrets.token_urlsafe(30),
        "SessionToken": secrets.token_urlsafe(60),
        "Expiration": int(sts.clock()) + call.params.get("DurationSeconds", holds_s),
    }


def _assumed_role_user(call: Call) -> dict[str, str]:
    role, session = call.params["RoleArn"], call.params["RoleSessionName"]
    parts = role.split(":", 5)
    if len(parts) < 6 or not parts[5].startswith("role/"):
        raise errors.BAD_ARN(arn=role)
    name = parts[5].rpartition("/")[2]
    return {
        "AssumedRoleId": f"{ROLE_ID}:{session}",
        "Arn": f"arn:aws:sts::{parts[4]}:assumed-role/{name}/{session}",
    }


def _claims(token: str) -> dict[str, str]:
    """The texts in the middle part of a JWT, or nothing."""
    try:
        middle = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return {name: text for name, text in claims.items() if isinstance(text, str)} if isinstance(claims, dict) else {}

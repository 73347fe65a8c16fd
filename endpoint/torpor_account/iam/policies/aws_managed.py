"""The documents of AWS's own managed policies, such as AmazonSageMakerFullAccess. moto has a copy of them."""

import json
from datetime import datetime
from functools import lru_cache
from typing import Any

PREFIX = "arn:aws:iam::aws:policy/"
DOCUMENTS_MAX = 64

EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
ADMINISTRATOR = {
    "Path": "/",
    "CreateDate": "2015-02-06T18:39:46+00:00",
    "UpdateDate": "2015-02-06T18:39:46+00:00",
    "DefaultVersionId": "v1",
    "Document": EVERYTHING,
}
"""AdministratorAccess, also without moto."""


def is_awss(arn: str) -> bool:
    return arn.startswith(PREFIX)


@lru_cache(DOCUMENTS_MAX)
def document(arn: str) -> str | None:
    """The document of AWS's policy with this ARN; None if it is not known. It reads some megabytes the first time."""
    for policy in _known().items():
        if _arn(*policy) == arn:
            return json.dumps(policy[1]["Document"])
    return None


def listed() -> list[dict[str, Any]]:
    """AWS's policies in the form of ListPolicies."""
    return [
        {
            "PolicyName": name,
            "Arn": _arn(name, policy),
            "Path": policy["Path"],
            "DefaultVersionId": policy["DefaultVersionId"],
            "IsAttachable": True,
            "CreateDate": int(datetime.fromisoformat(policy["CreateDate"]).timestamp()),
            "UpdateDate": int(datetime.fromisoformat(policy["UpdateDate"]).timestamp()),
        }
        for name, policy in _known().items()
    ]


def _known() -> dict[str, Any]:
    """Not kept: the whole of it takes more memory than an endpoint."""
    try:
        from moto.iam.aws_managed_policies import aws_managed_policies_data
    except ImportError:
        return {"AdministratorAccess": ADMINISTRATOR}
    found: dict[str, Any] = json.loads(aws_managed_policies_data)
    return found


def _arn(name: str, policy: dict[str, Any]) -> str:
    return f"arn:aws:iam::aws:policy{policy['Path']}{name}"

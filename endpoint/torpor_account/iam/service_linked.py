"""The operations that create and delete service-linked roles, by the name of their service."""

import json
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Iam
from torpor_account.iam.identity_records import Role
from torpor_account.iam.roles import new_role_id

SERVICE_ROLES = {
    "sagemaker.application-autoscaling.amazonaws.com": "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint",
}

LINKED_PATH = "/aws-service-role/"


def create_service_linked_role(iam: Iam, call: Call) -> dict[str, Any]:
    service = call.params["AWSServiceName"]
    if service not in SERVICE_ROLES:
        raise errors.NO_SERVICE_ROLE(services=", ".join(SERVICE_ROLES))
    if call.params.get("CustomSuffix"):
        raise errors.NO_SUFFIX(service=service)
    name, path = SERVICE_ROLES[service], f"{LINKED_PATH}{service}/"
    description = call.params.get("Description")
    role = Role(name, new_role_id(), iam.clock(), trust(service), path, description, protected=True)
    if not iam.roles.add(role):
        raise errors.SERVICE_ROLE_EXISTS(name=name)
    return {"Role": shapes.role(role, call.account, {})}


def delete_service_linked_role(iam: Iam, call: Call) -> dict[str, Any]:
    """Delete the role. On AWS it is a task that takes time; here it is done before the answer."""
    role = iam.role(call.params["RoleName"])
    if not role.path.startswith(LINKED_PATH):
        raise errors.NO_ROLE(name=role.name)
    iam.delete(role.name, lambda role: None, call.account)
    return {"DeletionTaskId": f"task{role.path}{role.name}/{role.role_id}"}


def get_service_linked_role_deletion_status(iam: Iam, call: Call) -> dict[str, Any]:
    task = call.params["DeletionTaskId"]
    if not task.startswith(f"task{LINKED_PATH}"):
        raise errors.NO_DELETION(task=task)
    return {"Status": "SUCCEEDED"}


def trust(service: str) -> str:
    """The trust policy with which the service may assume a role."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})

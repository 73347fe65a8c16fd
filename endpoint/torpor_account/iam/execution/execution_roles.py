"""Execution roles where callers are verified: whether SageMaker may assume one, and what it may do then.

The role's session is named `SageMaker`, as on AWS: `assumed-role/<role>/SageMaker`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torpor_account.core.access.evaluation import decide_service_trust
from torpor_account.core.access.needs import AccessNeed, AccessPlace, CallerAccess
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion
from torpor_account.core.access.rights.right_rows import default_role
from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.iam.identities.directory import Directory

SERVICE = "sagemaker.amazonaws.com"
SESSION = "SageMaker"

TOPIC_REFUSED = (
    "The provided role {role} is invalid. Please ensure the role exists, that its trust relationship policy allows "
    'the action "sts:AssumeRole" for the service principal "sagemaker.amazonaws.com", and has "sns:Publish" '
    'permissions for topic "{topic}"'
)
"""AWS's FailureReason of an asynchronous endpoint."""


@dataclass(frozen=True)
class ExecutionRoles:
    """Any thread may call its methods. `clock` gives epoch seconds."""

    directory: Directory
    account: str
    region: str
    clock: Callable[[], float]

    def arn(self, role: str) -> str:
        """The ARN of the role in use: a model that names none has the endpoint's own role."""
        return role or default_role(self.account)

    def assumed(self, role: str, source: str) -> CallerAccess:
        """The access of a role's session that SageMaker makes for the resource with the ARN `source`.

        Raises RoleRefused.
        """
        arn = self.arn(role)
        trust, principal = self.directory.trust(arn), self.directory.session(arn, SESSION)
        if trust is None or principal is None or not self._trusted(arn, source, trust):
            raise RoleRefused(arn)
        keys = {**principal.keys, "aws:requestedregion": (self.region,)}
        return CallerAccess(principal, AccessPlace(self.account, self.region), keys, now_s=self.clock())

    def fault(self, role: str, topics: Iterable[str], source: str) -> str | None:
        """Why SageMaker cannot use the role for `source` and publish to the topics, in AWS's words; None if it can."""
        try:
            access = self.assumed(role, source)
        except RoleRefused as refused:
            return str(refused)
        for topic in topics:
            if not access.decide(AccessNeed(("sns:Publish",), topic)).allowed:
                return TOPIC_REFUSED.format(role=self.arn(role), topic=topic)
        return None

    def _trusted(self, arn: str, source: str, trust: AccessPolicy) -> bool:
        known = {
            "aws:sourceaccount": (self.account,),
            "aws:sourcearn": (source,),
            "aws:principalservicename": (SERVICE,),
            "aws:principalisawsservice": ("true",),
            "aws:requestedregion": (self.region,),
        }

        def lookup(key: str) -> Sequence[str] | None:
            return known.get(key)

        return decide_service_trust(SERVICE, AccessQuestion("sts:AssumeRole", arn, lookup), trust).allowed

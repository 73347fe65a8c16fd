"""The rights that the endpoint needs in its namespace, as one table. The Helm chart's Role has the same rules."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KubernetesRight:
    """One resource and the verbs on it. The group of the core API is empty."""

    group: str
    resource: str
    verbs: tuple[str, ...]

    @property
    def rule(self) -> str:
        """The rule of a Role, as YAML in one line."""
        verbs = ", ".join(self.verbs)
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.resource}"], verbs: [{verbs}]}}'


RIGHTS = (
    KubernetesRight("apps", "deployments", ("create", "delete", "get", "list", "patch", "watch")),
    KubernetesRight("", "pods", ("delete", "list", "watch")),
    KubernetesRight("", "pods/log", ("get",)),
    KubernetesRight("", "secrets", ("create",)),
)
"""A Secret is written and never read: it goes with its Deployment."""
BUDGET_RIGHTS = (KubernetesRight("policy", "poddisruptionbudgets", ("create", "delete", "list")),)
"""Needed with `disruption_budgets` alone."""


def refusal(verb: str, resource: str, namespace: str) -> str:
    """What to say when the cluster refuses a verb, and the rule that allows it."""
    right = next((one for one in RIGHTS + BUDGET_RIGHTS if one.resource == resource), None)
    rule = right.rule if right is not None else f"{{resources: [{resource}], verbs: [{verb}]}}"
    return (
        f"the cluster does not let Torpor {verb} {resource} in the namespace {namespace}: "
        f"add to a Role there, and bind it: {rule}"
    )

"""The record of a role."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Role:
    """One role. Policy documents are texts, as they were sent. The ARN depends on the account, so it is not stored."""

    name: str
    role_id: str
    created_s: float
    trust: str  # AssumeRolePolicyDocument
    path: str = "/"
    description: str | None = None
    session_max_s: int = 3600
    boundary: str | None = None  # the permissions boundary's ARN
    policies: dict[str, str] = field(default_factory=dict)  # inline: documents by name
    attached: tuple[str, ...] = ()  # ARNs of managed policies
    protected: bool = False  # DeleteRole refuses it

    def arn(self, account: str) -> str:
        return f"arn:aws:iam::{account}:role{self.path}{self.name}"

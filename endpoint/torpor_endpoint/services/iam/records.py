"""A role as it is kept."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Role:
    """Policy documents are texts, as they were sent. The ARN is made from the account, so it is not kept."""

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
    protected: bool = False  # nobody may delete it

    def arn(self, account: str) -> str:
        return f"arn:aws:iam::{account}:role{self.path}{self.name}"

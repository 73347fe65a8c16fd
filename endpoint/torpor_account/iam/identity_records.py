"""The records of roles, users, groups, access keys, managed policies, temporary credentials and the grants of roles."""

from dataclasses import field

from torpor_container.frozen_class import frozen


@frozen
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
    trusted: dict[str, str] = field(default_factory=dict)  # unique ids of those whom `trust` names, by ARN

    def arn(self, account: str) -> str:
        return f"arn:aws:iam::{account}:role{self.path}{self.name}"


@frozen
class User:
    """One user. Policy documents are texts, as they were sent."""

    name: str
    user_id: str
    created_s: float
    path: str = "/"
    boundary: str | None = None  # the permissions boundary's ARN
    policies: dict[str, str] = field(default_factory=dict)  # inline: documents by name
    attached: tuple[str, ...] = ()  # ARNs of managed policies
    groups: tuple[str, ...] = ()  # names of the groups that the user is in

    def arn(self, account: str) -> str:
        return f"arn:aws:iam::{account}:user{self.path}{self.name}"


@frozen
class Group:
    """Users who share policies. The users' own records say who is in it."""

    name: str
    group_id: str
    created_s: float
    path: str = "/"
    policies: dict[str, str] = field(default_factory=dict)  # inline: documents by name
    attached: tuple[str, ...] = ()  # ARNs of managed policies

    def arn(self, account: str) -> str:
        return f"arn:aws:iam::{account}:group{self.path}{self.name}"


@frozen
class AccessKey:
    """A key of a user; `name` is its id. The secret is stored as it is: a signature cannot be verified without it."""

    name: str
    user: str
    created_s: float
    secret: str = field(repr=False)
    active: bool = True


@frozen
class ManagedPolicy:
    """A policy that roles, users and groups share. `versions` are documents by version, `made_s` when each was made."""

    name: str
    policy_id: str
    created_s: float
    updated_s: float
    versions: dict[str, str]
    made_s: dict[str, float]
    default: str = "v1"
    newest: int = 1  # the highest number that a version ever had
    path: str = "/"
    description: str | None = None

    @property
    def document(self) -> str:
        """That of the default version, which is in force."""
        return self.versions[self.default]

    def arn(self, account: str) -> str:
        return f"arn:aws:iam::{account}:policy{self.path}{self.name}"


@frozen
class TemporaryKey:
    """Temporary credentials; `name` is their access key's id. They are a role's, or a user's own (GetSessionToken).

    They end with their role or user, whose unique id is `holder_id`: another one of the same name does not get them.
    Of the token only its SHA-256 is stored. `policies` are the session policies' documents, None if there are none.
    """

    name: str
    secret: str = field(repr=False)
    token_sha256: str = field(repr=False)
    expires_s: float
    created_s: float
    role: str | None = None
    user: str | None = None
    holder_id: str = ""  # empty for the root
    session: str = ""
    service: str = ""  # the service of AWS that made them for itself, such as `sagemaker.amazonaws.com`
    policies: tuple[str, ...] | None = None
    tags: dict[str, str] = field(default_factory=dict)


@frozen
class RoleGrant:
    """What an instance's token stands for; `name` is the token's SHA-256. `source` is the ARN of what the role is used
    for. `keys` are the last two credentials that were made for it, the newest last."""

    name: str
    owner: str  # the slot of the instance, or the ARN of the training job
    role: str  # its ARN
    source: str
    keys: tuple[str, ...] = ()

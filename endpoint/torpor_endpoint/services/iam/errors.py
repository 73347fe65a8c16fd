"""IAM's errors: one table of codes, statuses and texts. Clients match on the codes, and Terraform on some texts."""

from enum import StrEnum

from torpor_endpoint.aws.errors import AwsError


class Trouble(StrEnum):
    NO_ROLE = "no such role"
    NO_ROLE_POLICY = "no such inline policy"
    NOT_ATTACHED = "detaching what is not attached"
    EXISTS = "name taken"
    HAS_ATTACHED = "deleting with attached policies"
    HAS_INLINE = "deleting with inline policies"
    PROTECTED = "change of a protected role"
    MALFORMED = "policy document"
    BAD_ARN = "policy ARN"
    STILL_ATTACHED = "deleting a policy that is attached"
    DUPLICATE_TAG = "two tags of one key"
    NO_PROFILES = "our role in an instance profile"
    QUOTA = "quota"
    BAD_MARKER = "page marker"
    SERVICE_ROLE_EXISTS = "service-linked role exists"
    NO_SERVICE_ROLE = "no service-linked role for this service"
    NO_DELETION = "no such deletion"


ERRORS: dict[Trouble, tuple[str, int, str]] = {
    Trouble.NO_ROLE: ("NoSuchEntity", 404, "The role with name {name} cannot be found."),
    Trouble.NO_ROLE_POLICY: ("NoSuchEntity", 404, "The role policy with name {name} cannot be found."),
    Trouble.NOT_ATTACHED: ("NoSuchEntity", 404, "Policy {arn} was not found."),
    Trouble.EXISTS: ("EntityAlreadyExists", 409, "Role with name {name} already exists."),
    Trouble.HAS_ATTACHED: ("DeleteConflict", 409, "Cannot delete entity, must detach all policies first."),
    Trouble.HAS_INLINE: ("DeleteConflict", 409, "Cannot delete entity, must delete policies first."),
    Trouble.PROTECTED: (
        "UnmodifiableEntity",
        400,
        "Cannot perform the operation on the protected role '{name}' - this role is only modifiable by AWS",
    ),
    Trouble.MALFORMED: ("MalformedPolicyDocument", 400, "{why}"),
    Trouble.BAD_ARN: ("InvalidInput", 400, "ARN {arn} is not valid."),
    Trouble.STILL_ATTACHED: ("DeleteConflict", 409, "Cannot delete a policy attached to entities."),
    Trouble.DUPLICATE_TAG: (
        "InvalidInput",
        400,
        "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
    ),
    Trouble.NO_PROFILES: ("InvalidInput", 400, "Torpor keeps no instance profiles: {name} cannot be in one."),
    Trouble.QUOTA: ("LimitExceeded", 409, "Cannot exceed quota for {what}: {limit}"),
    Trouble.BAD_MARKER: ("ValidationError", 400, "Invalid Marker."),
    Trouble.SERVICE_ROLE_EXISTS: (
        "InvalidInput",
        400,
        "Service role name {name} has been taken in this account, please try a different suffix.",
    ),
    Trouble.NO_SERVICE_ROLE: (
        "InvalidInput",
        400,
        "Torpor has service-linked roles for these services only: {services}.",
    ),
    Trouble.NO_DELETION: ("NoSuchEntity", 404, "No deletion task with id {task} can be found."),
}


def error(trouble: Trouble, **fields: object) -> AwsError:
    code, status, text = ERRORS[trouble]
    return AwsError(code, status, text.format(**fields))

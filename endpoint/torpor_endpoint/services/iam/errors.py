"""IAM's errors, one row each. Clients match on the codes, and Terraform on some texts."""

from torpor_endpoint.aws.errors import ErrorKind

NO_ROLE = ErrorKind("no such role", "NoSuchEntity", 404, "The role with name {name} cannot be found.")
NO_ROLE_POLICY = ErrorKind(
    "no such inline policy", "NoSuchEntity", 404, "The role policy with name {name} cannot be found."
)
NOT_ATTACHED = ErrorKind("detaching a policy that is not attached", "NoSuchEntity", 404, "Policy {arn} was not found.")
EXISTS = ErrorKind("name taken", "EntityAlreadyExists", 409, "Role with name {name} already exists.")
HAS_ATTACHED = ErrorKind(
    "deleting with attached policies", "DeleteConflict", 409, "Cannot delete entity, must detach all policies first."
)
HAS_INLINE = ErrorKind(
    "deleting with inline policies", "DeleteConflict", 409, "Cannot delete entity, must delete policies first."
)
PROTECTED = ErrorKind(
    "change of a protected role",
    "UnmodifiableEntity",
    400,
    "Cannot perform the operation on the protected role '{name}' - this role is only modifiable by AWS",
)
MALFORMED = ErrorKind("policy document", "MalformedPolicyDocument", 400)
BAD_ARN = ErrorKind("policy ARN", "InvalidInput", 400, "ARN {arn} is not valid.")
STILL_ATTACHED = ErrorKind(
    "deleting a policy that is attached", "DeleteConflict", 409, "Cannot delete a policy attached to entities."
)
DUPLICATE_TAG = ErrorKind(
    "two tags with one key",
    "InvalidInput",
    400,
    "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
)
NO_PROFILES = ErrorKind(
    "Torpor's role in an instance profile",
    "InvalidInput",
    400,
    "Torpor keeps no instance profiles: {name} cannot be in one.",
)
QUOTA = ErrorKind("quota", "LimitExceeded", 409, "Cannot exceed quota for {what}: {limit}")
BAD_MARKER = ErrorKind("page marker", "ValidationError", 400, "Invalid Marker.")
SERVICE_ROLE_EXISTS = ErrorKind(
    "service-linked role exists",
    "InvalidInput",
    400,
    "Service role name {name} has been taken in this account, please try a different suffix.",
)
NO_SERVICE_ROLE = ErrorKind(
    "no service-linked role for this service",
    "InvalidInput",
    400,
    "Torpor has service-linked roles for these services only: {services}.",
)
NO_DELETION = ErrorKind("no such deletion", "NoSuchEntity", 404, "No deletion task with id {task} can be found.")

"""IAM's errors, one row each. Clients match on the codes, and Terraform on some texts."""

from torpor_account.aws.errors import ErrorKind

NO_ROLE = ErrorKind("no such role", "NoSuchEntity", 404, "The role with name {name} cannot be found.")
NO_USER = ErrorKind("no such user", "NoSuchEntity", 404, "The user with name {name} cannot be found.")
NO_USER_POLICY = ErrorKind(
    "no such inline policy of a user", "NoSuchEntity", 404, "The user policy with name {name} cannot be found."
)
NO_GROUP = ErrorKind("no such group", "NoSuchEntity", 404, "The group with name {name} cannot be found.")
NO_GROUP_POLICY = ErrorKind(
    "no such inline policy of a group", "NoSuchEntity", 404, "The group policy with name {name} cannot be found."
)
GROUP_EXISTS = ErrorKind("group name taken", "EntityAlreadyExists", 409, "Group with name {name} already exists.")
HAS_USERS = ErrorKind(
    "deleting a group with users", "DeleteConflict", 409, "Cannot delete entity, must remove users from group first."
)
IN_GROUPS = ErrorKind(
    "deleting a user in a group", "DeleteConflict", 409, "Cannot delete entity, must remove users from group first."
)
AWSS_POLICY = ErrorKind(
    "change of one of AWS's policies",
    "AccessDenied",
    403,
    "{arn} is one of AWS's own policies, which no account can change: create a policy of your own.",
)
NO_SOURCE = ErrorKind("no user, group or role to simulate", "NoSuchEntity", 404, "The entity {arn} cannot be found.")
NO_KEY = ErrorKind("no such access key", "NoSuchEntity", 404, "The Access Key with id {name} cannot be found.")
NO_POLICY = ErrorKind(
    "no such managed policy", "NoSuchEntity", 404, "Policy {arn} does not exist or is not attachable."
)
NO_VERSION = ErrorKind(
    "no such policy version", "NoSuchEntity", 404, "Policy {arn} version {version} does not exist or is not attachable."
)
USER_EXISTS = ErrorKind("user name taken", "EntityAlreadyExists", 409, "User with name {name} already exists.")
POLICY_EXISTS = ErrorKind(
    "policy name taken",
    "EntityAlreadyExists",
    409,
    "A policy called {name} already exists. Duplicate names are not allowed.",
)
HAS_KEYS = ErrorKind(
    "deleting with access keys", "DeleteConflict", 409, "Cannot delete entity, must delete access keys first."
)
DEFAULT_VERSION = ErrorKind(
    "deleting the default version", "DeleteConflict", 409, "Cannot delete the default version of a policy."
)
HAS_VERSIONS = ErrorKind(
    "deleting a policy with several versions",
    "DeleteConflict",
    409,
    "This policy has more than one version. Before you delete a policy, you must delete the policy's versions. "
    "The default version is deleted with the policy.",
)
NEEDS_USER = ErrorKind(
    "no user named", "ValidationError", 400, "Must specify userName when calling with non-User credentials"
)
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
RESERVED_TAG = ErrorKind(
    "a tag with one of AWS's keys",
    "InvalidInput",
    400,
    "The tag key {key} is not allowed: keys that begin with aws: are reserved.",
)
NO_PROFILES = ErrorKind(
    "Torpor's role in an instance profile",
    "InvalidInput",
    400,
    "Torpor keeps no instance profiles: {name} cannot be in one.",
)
BAD_SIMULATION = ErrorKind("simulation", "InvalidInput", 400)
BAD_FILTER = ErrorKind(
    "details of AWS's own policies",
    "InvalidInput",
    400,
    "Torpor does not list AWS's own policies here: leave AWSManagedPolicy out of Filter, and use ListPolicies.",
)
NO_SUFFIX = ErrorKind(
    "suffix of a service-linked role", "InvalidInput", 400, "Custom suffix is not allowed for {service}"
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

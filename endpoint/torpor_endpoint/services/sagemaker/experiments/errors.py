"""The errors that only inference experiments have. All other errors are the control plane's."""

from torpor_account.aws.errors import ErrorKind

NO_EXPERIMENT = ErrorKind(
    "not found",
    "ResourceNotFound",
    400,
    'Could not find inference experiment "{name}": list them all with ListInferenceExperiments.',
)
TAKEN = ErrorKind("duplicate", "ResourceInUse", 400, 'Cannot create already existing inference experiment "{name}".')
ENDPOINT_TAKEN = ErrorKind(
    "two experiments on one endpoint",
    "ResourceInUse",
    400,
    'EndpointName: the endpoint "{endpoint}" has the inference experiment "{name}", which runs or waits: stop it.',
)
CONFLICT = ErrorKind("wrong status", "ConflictException", 400)

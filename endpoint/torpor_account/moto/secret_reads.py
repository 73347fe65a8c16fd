"""Finds the calls that read a secret by another operation than Secrets Manager's GetSecretValue.

AWS asks for the right to GetSecretValue in both cases:
https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_BatchGetSecretValue.html and
https://docs.aws.amazon.com/systems-manager/latest/userguide/integration-ps-secretsmanager.html.
"""

import json

REFERENCE = "/aws/reference/secretsmanager/"
"""How the name of a parameter begins that stands for a secret."""


def reads_secrets(service: str, operation: str, body: bytes) -> bool:
    """Whether a call in JSON reads secrets so. One whose body cannot be read reads nothing."""
    if service == "secretsmanager":
        return operation == "BatchGetSecretValue"
    if service != "ssm" or not operation.startswith("Get"):
        return False
    try:
        return REFERENCE in json.dumps(json.loads(body.decode()), ensure_ascii=False)
    except (ValueError, RecursionError):
        return False

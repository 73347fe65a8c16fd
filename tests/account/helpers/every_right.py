"""The rows of all services together: the account's, and those that SageMaker brings."""

from collections.abc import Iterator, Mapping
from typing import Any

from torpor_account.core.access import operation_rights
from torpor_account.core.access.needs import AccessNeed, AccessPlace
from torpor_account.core.access.operation_rights import PREFIXES, Rights
from torpor_account.core.access.rights import RIGHTS
from torpor_endpoint.core.rights import AUTOSCALING, SAGEMAKER

EVERY_RIGHT: Mapping[str, Rights] = {**RIGHTS, "sagemaker": SAGEMAKER, "application-autoscaling": AUTOSCALING}


def needs_of(
    service: str, operation: str, params: Mapping[str, Any] | None, place: AccessPlace
) -> Iterator[AccessNeed]:
    """As `operation_rights.needs_of`, by the service's own rows."""
    return operation_rights.needs_of(
        service, operation, params, place, EVERY_RIGHT.get(PREFIXES.get(service, service), {})
    )

"""The rows of all services together: the account's, and those that SageMaker brings."""

from collections.abc import Iterator, Mapping
from typing import Any

from torpor_account.core.access.needs import AccessNeed, AccessPlace
from torpor_account.core.access.rights import right_rows
from torpor_account.core.access.rights.account_rights import RIGHTS
from torpor_account.core.access.rights.right_rows import PREFIXES, Rights
from torpor_endpoint.core.rights import AUTOSCALING, SAGEMAKER

EVERY_RIGHT: Mapping[str, Rights] = {**RIGHTS, "sagemaker": SAGEMAKER, "application-autoscaling": AUTOSCALING}


def needs_of(
    service: str, operation: str, params: Mapping[str, Any] | None, place: AccessPlace
) -> Iterator[AccessNeed]:
    """As `right_rows.needs_of`, by the service's own rows."""
    return right_rows.needs_of(service, operation, params, place, EVERY_RIGHT.get(PREFIXES.get(service, service), {}))

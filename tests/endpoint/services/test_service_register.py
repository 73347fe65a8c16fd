"""The one table of services: each row agrees with the service that it makes."""

from typing import Any

import pytest

from torpor_account.aws.service_models import known_services, service_model
from torpor_account.services import AwsService
from torpor_endpoint.services.service_register import ADDRESSES, SERVICES

every_service = pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)


@every_service
def test_a_service_answers_operations_that_aws_has(service: AwsService[Any]) -> None:
    assert service.name in known_services()
    assert set(service.tables().operations) <= set(service_model(service.name).operation_names)


@every_service
def test_a_service_is_named_as_its_model_names_it(service: AwsService[Any]) -> None:
    address, metadata = service.address, service_model(service.name).metadata
    assert address.target in (None, metadata.get("targetPrefix"))
    assert address.version in (None, metadata["apiVersion"])
    assert address.target is None or ADDRESSES.signing_name(service.name) == metadata["endpointPrefix"].removeprefix(
        "api."
    )


@every_service
def test_each_member_sent_even_when_empty_is_a_member_of_a_shape(service: AwsService[Any]) -> None:
    model, tables = service_model(service.name), service.tables()
    members = {name for shape in model.shape_names for name in getattr(model.shape_for(shape), "members", ())}
    assert set(tables.kept) <= members

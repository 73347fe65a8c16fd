"""Stores a package's approval together with what follows from it below the prefixes that its group feeds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torpor_account.aws.errors import AwsError
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.registry.package_artifacts import artifact_url
from torpor_endpoint.services.sagemaker.registry.prefix_feeding import NotFed


def artifact_etag(control: Control, request: Mapping[str, Any]) -> str:
    """The ETag of a package's artifact now; empty where it is not known."""
    url = artifact_url(request)
    return control.feeding.etag_of(url) if control.feeding is not None and url else ""


def first_approval(control: Control, package: ModelPackage, approval: str) -> ModelPackage:
    """A version that was made with another status than pending. One that cannot be put below a prefix is not made:
    raises ValidationException then."""
    updated = replace(package, approval=approval)
    try:
        store_update(control, package, updated)
    except AwsError:
        control.store.packages.remove(package)
        raise
    return updated


def store_update(control: Control, package: ModelPackage, updated: ModelPackage) -> None:
    """Store the package as it is from now on. Raises ValidationException, and changes nothing, for one that is gone or
    cannot be put below a prefix."""

    def stored() -> bool:
        return control.store.packages.replace(updated)

    feeding = control.feeding
    if feeding is None or not package.group_name:
        done = stored()
    elif not updated.deployable:
        done = feeding.withdraw(updated, stored)
    else:
        if artifact_url(updated.request) != artifact_url(package.request) and (fed := feeding.feeds(package)):
            raise errors.INVALID(
                f"Model package {package.arn} answers at {fed}: register another artifact as a new version."
            )
        try:
            done = feeding.approve(updated, stored)
        except NotFed as error:
            raise errors.INVALID(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
    if not done:
        raise errors.NOT_FOUND(noun=Resource.PACKAGE.noun, arn=package.arn)


def store_deletion(control: Control, package: ModelPackage) -> None:
    """Remove the package, and take back what it has put below prefixes."""

    def stored() -> bool:
        return control.store.packages.remove(package)

    if control.feeding is None:
        stored()
    else:
        control.feeding.withdraw(package, stored)

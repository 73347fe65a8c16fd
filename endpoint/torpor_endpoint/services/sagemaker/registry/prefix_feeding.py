"""Puts the artifacts of approved packages below the prefixes that their groups feed, and takes them back.

A version is one object, `NAME/NUMBER/FILE`, a copy of the package's artifact. What answers the name follows from what
lies there (`fleet.versions`). Each copy has a record: only what has one is ever removed.
"""

import logging
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Lock

from torpor_account.s3.access.embedded import AsRole, NotStored, Storage, StorageError
from torpor_endpoint.core.registry.fed_names import FedName, FedVersion, fed_names, record_name
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.core.resource_records import Container, EndpointRecord, Variant
from torpor_endpoint.services.sagemaker.registry.package_artifacts import artifact_url, expected_etag, place_of
from torpor_endpoint.storage.store import Store

log = logging.getLogger(__name__)


class NotFed(Exception):
    """A package cannot be put below a prefix. The text says why."""


@dataclass(frozen=True)
class FeedingSite:
    """What feeding needs of the endpoint. `told` gets the bucket and key of each object that came or went, and whether
    it is there; `clock` gives epoch seconds."""

    store: Store
    storage: Storage
    as_role: AsRole
    told: Callable[[str, str, bool], None]
    clock: Callable[[], float]


class PrefixFeeding:
    """Its methods block. One change at a time is made."""

    def __init__(self, site: FeedingSite) -> None:
        self._site = site
        self._packages = site.store.packages
        self._turn = Lock()

    def etag_of(self, url: str) -> str:
        """The ETag of an artifact now; empty where there is none, or it cannot be read."""
        try:
            return self._site.storage.head(*place_of(url)).etag
        except StorageError:
            return ""

    def feeds(self, package: ModelPackage) -> str:
        """The address of an object that the package has put below a prefix; empty if it has put none."""
        return next((f"s3://{fed.name}" for fed in self._packages.fed_versions() if fed.package_arn == package.arn), "")

    def approve(self, package: ModelPackage, stored: Callable[[], bool]) -> bool:
        """Put the package below every prefix that its group feeds, then have `stored` store its approval. Where one of
        them fails, nothing is left. Returns what `stored` does. Raises NotFed."""
        with self._turn, ExitStack() as undone:
            for endpoint, name in self._names():
                if name.group.lower() == package.group_name.lower():
                    fed = self._put(endpoint.arn, name, package)
                    if fed is not None:
                        undone.callback(self._try_to_remove, endpoint.arn, name.role, fed)
            done = stored()
            if done:
                undone.pop_all()
            return done

    def withdraw(self, package: ModelPackage, stored: Callable[[], bool]) -> bool:
        """Have `stored` store that the package is not approved any more, then take back what it has put. What cannot be
        removed now, or lies below a prefix that no endpoint serves, is removed when an endpoint of the prefix starts.
        """
        with self._turn:
            if not stored():
                return False
            served = {(name.bucket, name.folder): (one.arn, name.role) for one, name in self._names()}
            for fed in self._packages.fed_versions():
                if fed.package_arn == package.arn and (fed.bucket, fed.folder) in served:
                    self._try_to_remove(*served[fed.bucket, fed.folder], fed)
            return True

    def bring(self, variant: Variant, endpoint_arn: str) -> None:
        """Before a variant is served: put what its groups have approved, and remove what they have not. The log tells
        of a version that cannot be put; the others answer."""
        for name in fed_names(variant.containers):
            with self._turn:
                try:
                    self._bring(name, endpoint_arn)
                except StorageError as error:
                    log.warning("%s cannot be fed by group %s yet: %s", name.url, name.group, error)

    def other_group(self, containers: Collection[Container]) -> str:
        """Why one of these containers cannot be fed as it asks: another group feeds the name. Empty if none does."""
        wanted = tuple(fed_names(containers))
        models = (self._site.store.model(card.name) for card in self._site.store.model_cards()) if wanted else ()
        there = chain(
            ((f"endpoint {endpoint.name}", name) for endpoint, name in self._names()),
            ((f"model {model.name}", name) for model in models if model for name in fed_names(model.containers)),
        )
        groups = {(one.bucket, one.folder): one.group.lower() for one in wanted}
        for whose, name in there if wanted else ():
            if groups.get((name.bucket, name.folder), name.group.lower()) != name.group.lower():
                return f"{name.url} is fed by group {name.group} already, for {whose}: take another prefix or name"
        return ""

    def _bring(self, name: FedName, endpoint_arn: str) -> None:
        approved = {one.arn: one for one in self._packages.approved_of(name.group)}
        for fed in self._packages.fed_versions():
            if (fed.bucket, fed.folder) == (name.bucket, name.folder) and fed.package_arn not in approved:
                self._try_to_remove(endpoint_arn, name.role, fed)
        there = self._as(name.role, endpoint_arn).keys(name.bucket, name.folder)
        for package in approved.values():
            try:
                self._put(endpoint_arn, name, package, there)
            except NotFed as error:
                log.warning("model package %s does not answer below %s: %s", package.arn, name.url, error)

    # -- one object ------------------------------------------------------------------------------------------------
    def _put(
        self, endpoint_arn: str, name: FedName, package: ModelPackage, there: Collection[str] | None = None
    ) -> FedVersion | None:
        """Copy the artifact, and return its record; None if it was copied before. `there` has the keys below the name,
        if they are known. Raises NotFed."""
        source = artifact_url(package.request)
        if not source:
            raise NotFed(f"model package {package.arn} is not one object in S3, and a version of {name.url} is one")
        folder = name.folder_of(package.version)
        target = folder + place_of(source)[1].rpartition("/")[2]
        storage = self._as(name.role, endpoint_arn)
        try:
            below = storage.keys(name.bucket, folder) if there is None else there
            found = [key for key in below if key.startswith(folder)]
            ours = self._packages.fed_version(name.bucket, target) is not None
            if ours and found == [target]:
                return None
            if foreign := [key for key in found if key != target or not ours]:
                raise NotFed(f"s3://{name.bucket}/{foreign[0]} is there, and no package has put it: move it first")
            etag = _copied(storage, package, place_of(source), (name.bucket, target))
            put = storage.head(name.bucket, target).etag
        except NotStored as error:
            raise NotFed(
                f"the artifact of model package {package.arn} cannot be put below {name.url}: {error}"
            ) from None
        except StorageError as error:
            raise NotFed(f"S3 does not answer for model package {package.arn}: {error}") from None
        address, now_s = record_name(name.bucket, target), self._site.clock()
        fed = FedVersion(
            address, name.folder, package.group_name, package.version, package.arn, source, etag, put, now_s
        )
        self._packages.put_fed(fed)
        self._site.told(name.bucket, target, True)
        return fed

    def _try_to_remove(self, endpoint_arn: str, role: str, fed: FedVersion) -> None:
        try:
            self._as(role, endpoint_arn).remove(fed.bucket, fed.key)
        except StorageError as error:
            log.warning("the copy of model package %s cannot be taken back yet: %s", fed.package_arn, error)
            return
        self._packages.remove_fed(fed)
        self._site.told(fed.bucket, fed.key, False)

    def _as(self, role: str, endpoint_arn: str) -> Storage:
        return self._site.as_role(self._site.storage, role, endpoint_arn)

    def _names(self) -> Iterator[tuple[EndpointRecord, FedName]]:
        """What all endpoints have fed, those of an update too, each place once."""
        seen = set[tuple[str, str]]()
        for endpoint in self._site.store.endpoints():
            for variant in (*endpoint.variants, *(endpoint.pending_variants or ())):
                for name in fed_names(variant.containers):
                    if (name.bucket, name.folder) not in seen:
                        seen.add((name.bucket, name.folder))
                        yield endpoint, name


def _copied(storage: Storage, package: ModelPackage, source: tuple[str, str], target: tuple[str, str]) -> str:
    """Copy a package's artifact; its ETag. Raises NotFed for one that is another than was registered, StorageError."""
    url, expected, etag = f"s3://{'/'.join(source)}", expected_etag(package), storage.head(*source).etag
    if expected not in ("", etag):
        raise NotFed(
            f"the artifact {url} of model package {package.arn} was changed after it was registered: its ETag is "
            f"{etag}, and not {expected}. Register it as a new version"
        )
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "artifact"
        storage.fetch(*source, copy)
        if storage.head(*source).etag != etag:
            raise NotFed(f"the artifact {url} of model package {package.arn} changes while it is copied: try again")
        storage.put(copy, *target)
    return etag

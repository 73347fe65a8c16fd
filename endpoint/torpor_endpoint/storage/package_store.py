"""Stores the model registry: groups of model packages, and packages."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_account.storage.tag_store import Tags
from torpor_endpoint.core.registry.fed_names import FedVersion, record_name
from torpor_endpoint.core.registry.package_records import ModelPackage, PackageGroup


class PackageStore:
    """Any thread may call its methods. Names and ARNs are found in any case."""

    def __init__(self, database: Database, tags: Tags) -> None:
        self._database = database
        self._tags = tags
        self._groups = RecordTable(database, "package_groups", PackageGroup)
        self._packages = RecordTable(database, "model_packages", ModelPackage)
        self._fed = RecordTable(database, "fed_versions", FedVersion, key=str)

    def add_group(self, group: PackageGroup, tags: Mapping[str, str]) -> bool:
        """Whether its name was free."""
        with self._database.transaction():
            added = self._groups.add(group)
            if added and tags:
                self._tags.put_within(group.arn, tags)
        return added

    def group(self, name: str) -> PackageGroup | None:
        return self._groups.at(name.lower())

    def groups(self) -> tuple[PackageGroup, ...]:
        return self._groups.all()

    def set_policy(self, group: PackageGroup, policy: str) -> bool:
        """Keep the group's resource policy; an empty one is none. False for a group that is gone."""
        with self._database.transaction():  # a version may be added meanwhile
            found = self.group(group.name)
            if found is None or found.created_s != group.created_s:
                return False
            self._groups.put(replace(found, policy=policy))
            return True

    def remove_group(self, group: PackageGroup) -> bool:
        """False, without a change, for a group that has packages."""
        with self._database.transaction():
            if self.versions_of(group.name):
                return False
            self._tags.forget(group.arn)
            return self._groups.remove(group.name)

    def add(self, package: ModelPackage, tags: Mapping[str, str]) -> bool:
        """Add a package that stands alone. Whether its name was free."""
        with self._database.transaction():
            added = self._packages.add(package)
            if added and tags:
                self._tags.put_within(package.arn, tags)
        return added

    def add_version(self, group: str, make: Callable[[PackageGroup, int], ModelPackage]) -> ModelPackage | None:
        """Add the next version of a group, or find the one that was made with the same token; None without a group."""
        with self._database.transaction():
            found = self.group(group)
            if found is None:
                return None
            package = make(found, found.versions + 1)
            same = [one for one in self.versions_of(found.name) if package.token and one.token == package.token]
            if same:
                return same[0]
            self._groups.put(replace(found, versions=package.version))
            self._packages.put(package)
            return package

    def package(self, name: str) -> ModelPackage | None:
        """By its name, or for a version by `group/number`."""
        return self._packages.at(name.lower())

    def packages(self) -> tuple[ModelPackage, ...]:
        return self._packages.all()

    def versions_of(self, group: str) -> tuple[ModelPackage, ...]:
        return self._packages.where("group_name", group)

    def approved_of(self, group: str) -> tuple[ModelPackage, ...]:
        """The versions of a group that may be deployed; the group's name in any case."""
        found = self.group(group)
        return () if found is None else tuple(one for one in self.versions_of(found.name) if one.deployable)

    def replace(self, package: ModelPackage) -> bool:
        """Store the package anew, if it is still there."""
        return self._packages.replace(package, still=lambda stored: stored.created_s == package.created_s)

    def remove(self, package: ModelPackage) -> bool:
        with self._database.transaction():
            self._tags.forget(package.arn)
            return self._packages.remove(package.name)

    def has(self, arn: str) -> bool:
        """Whether a group, or a package that stands alone, has this ARN: these can have tags."""
        _, _, resource = arn.partition(":model-package")
        kind, _, name = resource.partition("/")
        found = self.group(name) if kind == "-group" else self.package(name)
        return found is not None and found.arn == arn and not getattr(found, "group_name", "")

    # -- what packages have put below prefixes -------------------------------------------------------------------------
    def put_fed(self, fed: FedVersion) -> None:
        self._fed.put(fed)

    def remove_fed(self, fed: FedVersion) -> None:
        self._fed.remove(fed.name)

    def fed_version(self, bucket: str, key: str) -> FedVersion | None:
        """Of which package the object of this key is a copy; None for any other object."""
        return self._fed.at(record_name(bucket, key))

    def fed_versions(self) -> tuple[FedVersion, ...]:
        return self._fed.all()

"""The prefixes of the variants with groups: reads the files of groups below each, and knows which models are there."""

import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakSet

from torpor_account.s3.access.embedded import NotStored, Storage, StorageError
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.model_choice.group_file import FILE_MAX_BYTES, BadGroupFile, group_name, read_group
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.variant_settings import VariantSettings

StorageOf = Callable[[str, str], Storage]
"""Takes the ARNs of a role and of the endpoint that assumes it; returns the storage that acts as this role."""
GROUPS_MAX = 1000
"""The most groups of one prefix. Files beyond that are not read, and their names answer no call."""


@frozen
class GroupsBelow:
    """What lies below a prefix: each group, or why its file is none, and those of the names in them that are keys."""

    groups: Mapping[str, ChoiceGroup | str] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()

    def concerns(self, key: str) -> bool:
        """Whether a change of this object may change a group."""
        if group_name(key) is not None or key in self.groups or key in self.names:
            return True
        parents = [key[:place] for place, letter in enumerate(key) if letter == "/"]
        return any(parent in self.names for parent in parents)  # a version of one of the models

    @property
    def names(self) -> frozenset[str]:
        """What the groups name: models, and the names of models of which they name a version."""
        named = [one.model for group in self.groups.values() if isinstance(group, ChoiceGroup) for one in group.models]
        return frozenset((*named, *(name.rpartition("@")[0] for name in named if "@" in name)))


@dataclass(eq=False)
class GroupedPrefix:
    """One prefix. `listed` says whether `below` is known. `told` counts the objects whose change may change a group."""

    bucket: str
    folder: str
    role: str
    endpoint_arn: str
    below: GroupsBelow = field(default_factory=GroupsBelow)
    listed: bool = False
    due_s: float = 0.0
    told: int = 0
    pools: WeakSet[InstancePool] = field(default_factory=WeakSet)

    @property
    def place(self) -> tuple[str, str, str]:
        return self.bucket, self.folder, self.role


def grouped_container(variant: Variant) -> Container | None:
    """The container of many models that has groups; None for a variant without."""
    if not VariantSettings.read(variant.containers).groups:
        return None
    return next((one for one in variant.containers if one.multi_model and one.model_data_url is not None), None)


def grouped_prefix(container: Container, endpoint_arn: str) -> GroupedPrefix:
    bucket, _, key = (container.model_data_url or "").removeprefix("s3://").partition("/")
    return GroupedPrefix(bucket, f"{key.removesuffix('/')}/" if key else "", container.role, endpoint_arn)


def look_below(storage: Storage, bucket: str, folder: str) -> GroupsBelow:
    """List a prefix, and read its files of groups. It blocks. Raises StorageError if it cannot be listed."""
    keys = [key[len(folder) :] for key in storage.keys(bucket, folder)]
    groups: dict[str, ChoiceGroup | str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for key in keys:
            name = group_name(key)
            if name is None:
                continue
            if name in groups:
                groups[name] = f"two files have its name, with and without a slash before it: remove {key} or the other"
                continue
            if len(groups) >= GROUPS_MAX:
                groups[name] = f"the prefix has more than {GROUPS_MAX} groups"
                continue
            found = _read(storage, bucket, f"{folder}{key}", name, Path(scratch) / "group")
            if found is not None:
                groups[name] = found
    wanted = GroupsBelow(groups).names.union(groups)
    return GroupsBelow(groups, _present(keys, wanted))


def _read(storage: Storage, bucket: str, key: str, name: str, copy: Path) -> ChoiceGroup | str | None:
    """The group, or why its file is none; None for a file that is gone."""
    try:
        if (size_bytes := storage.head(bucket, key).size_bytes) > FILE_MAX_BYTES:
            return f"{key} has {size_bytes} bytes: at most {FILE_MAX_BYTES} are read"
        storage.fetch(bucket, key, copy)
        return read_group(name, copy.read_bytes())
    except BadGroupFile as error:
        return f"{key} is no group: {error}"
    except NotStored:
        return None
    except StorageError as error:
        return f"{key} cannot be read: {error}"


def _present(keys: Collection[str], wanted: frozenset[str]) -> frozenset[str]:
    return frozenset(key for key in keys if key in wanted)

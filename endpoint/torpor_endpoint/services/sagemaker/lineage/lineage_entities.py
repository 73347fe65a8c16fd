"""Create, Describe, Update, Delete and List of artifacts, actions and contexts, from one table of the three kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.core.lineage.lineage_records import SEGMENTS, EntityKind, LineageEntity, artifact_name
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.lineage.lineage_context import Lineage
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.tag_operations import first_tags

PROPERTIES_MAX = 30
"""AWS: "a maximum of 30 properties"."""


@dataclass(frozen=True)
class EntityShape:
    """How one kind stands in requests and answers: the member of its name, and those that a description has more."""

    kind: EntityKind
    more: tuple[str, ...]

    @property
    def noun(self) -> str:
        return self.kind.value.lower()

    def member(self, what: str) -> str:
        return f"{self.kind.value}{what}"


SHAPES: Final = (
    EntityShape(EntityKind.ARTIFACT, ("MetadataProperties",)),
    EntityShape(EntityKind.ACTION, ("Description", "Status", "MetadataProperties")),
    EntityShape(EntityKind.CONTEXT, ("Description",)),
)


def create(shape: EntityShape, lineage: Lineage, call: Call) -> dict[str, Any]:
    params, now_s = call.params, lineage.clock()
    title = params.get(shape.member("Name"), "")
    uri = params["Source"]["SourceUri"]
    last = artifact_name(uri) if shape.kind is EntityKind.ARTIFACT else title.lower()
    entity = LineageEntity(
        f"arn:aws:sagemaker:{call.region}:{call.account}:{SEGMENTS[shape.kind]}/{last}",
        shape.kind,
        title,
        params[shape.member("Type")],
        params["Source"],
        now_s,
        now_s,
        params.get("Description", ""),
        params.get("Status", "Unknown") if shape.kind is EntityKind.ACTION else "",
        _few(params.get("Properties", {})),
        params.get("MetadataProperties", {}),
    )
    tags = first_tags(call)
    if entity.name in lineage.graph(call).entities or not lineage.store.lineage.add(entity, tags):
        raise errors.EXISTS(noun=shape.noun, arn=entity.name)
    return {shape.member("Arn"): entity.name}


def describe(shape: EntityShape, lineage: Lineage, call: Call) -> dict[str, Any]:
    entity = _found(shape, lineage, call)
    more = {
        "Description": entity.description,
        "Status": entity.status,
        "MetadataProperties": dict(entity.metadata),
    }
    told = {member: more[member] for member in shape.more}
    shown = {**_summary(shape, entity), **told, "Properties": dict(entity.properties)}
    return {member: value for member, value in shown.items() if value not in ("", {})}


def update(shape: EntityShape, lineage: Lineage, call: Call) -> dict[str, Any]:
    entity, params = _own(shape, lineage, call), call.params
    removed = params.get("PropertiesToRemove", ())
    properties = {**entity.properties, **params.get("Properties", {})}
    title = params.get("ArtifactName", entity.title) if shape.kind is EntityKind.ARTIFACT else entity.title
    updated = replace(
        entity,
        title=title,
        description=params.get("Description", entity.description),
        status=params.get("Status", entity.status),
        properties=_few({name: value for name, value in properties.items() if name not in removed}),
        modified_s=lineage.clock(),
    )
    if not lineage.store.lineage.replace(updated):
        raise errors.NO_ENTITY(noun=shape.noun, arn=entity.name)
    return {shape.member("Arn"): entity.name}


def delete(shape: EntityShape, lineage: Lineage, call: Call) -> dict[str, Any]:
    """An entity with associations stays."""
    entity = _own(shape, lineage, call)
    if touching := lineage.graph(call).touching(entity.name):
        raise errors.INVALID(
            f'Cannot delete {shape.noun} "{entity.name}": it has {len(touching)} associations. '
            "Call DeleteAssociation first."
        )
    lineage.store.lineage.remove(entity)
    return {shape.member("Arn"): entity.name}


def listed(shape: EntityShape, lineage: Lineage, call: Call) -> dict[str, Any]:
    params = call.params
    wanted, uri = params.get(shape.member("Type")), params.get("SourceUri")
    found = [
        _EntityRow(entity.title or entity.name, entity.created_s, entity)
        for entity in lineage.graph(call).entities.values()
        if entity.kind is shape.kind and wanted in (None, entity.type) and uri in (None, entity.source_uri)
    ]
    rows, token = page(found, {**params, **created_between(params)})
    summaries = [_summary(shape, row.entity) for row in rows]
    return {shape.member("Summaries"): summaries, "NextToken": token}


def created_between(params: Mapping[str, Any]) -> dict[str, Any]:
    """CreatedAfter and CreatedBefore by the names that other lists have."""
    names = {"CreatedAfter": "CreationTimeAfter", "CreatedBefore": "CreationTimeBefore"}
    return {names[member]: params[member] for member in names if member in params}


def _operations() -> dict[str, Operation[Lineage]]:
    found: dict[str, Operation[Lineage]] = {}
    for shape in SHAPES:
        name = shape.kind.value
        found |= {
            f"Create{name}": partial(create, shape),
            f"Describe{name}": partial(describe, shape),
            f"Update{name}": partial(update, shape),
            f"Delete{name}": partial(delete, shape),
            f"List{name}s": partial(listed, shape),
        }
    return found


OPERATIONS: Final[Mapping[str, Operation[Lineage]]] = _operations()


@dataclass(frozen=True)
class _EntityRow:
    name: str
    created_s: float
    entity: LineageEntity


def _summary(shape: EntityShape, entity: LineageEntity) -> dict[str, Any]:
    named = {shape.member("Name"): entity.title} if entity.title else {}
    status = {"Status": entity.status} if entity.status else {}
    return {
        shape.member("Arn"): entity.name,
        **named,
        **status,
        "Source": dict(entity.source),
        shape.member("Type"): entity.type,
        "CreationTime": entity.created_s,
        "LastModifiedTime": entity.modified_s,
    }


def _found(shape: EntityShape, lineage: Lineage, call: Call) -> LineageEntity:
    arn = _arn(shape, call)
    entity = lineage.graph(call).entities.get(arn)
    if entity is None or entity.kind is not shape.kind:
        raise errors.NO_ENTITY(noun=shape.noun, arn=arn)
    return entity


def _own(shape: EntityShape, lineage: Lineage, call: Call) -> LineageEntity:
    """One that a caller made. What is made of another record is as that record is."""
    entity = _found(shape, lineage, call)
    if not entity.kept:
        raise errors.INVALID(
            f'The {shape.noun} "{entity.name}" is made of {entity.source_uri}: it changes with that, and by no call.'
        )
    return entity


def _arn(shape: EntityShape, call: Call) -> str:
    params = call.params
    root = f"arn:aws:sagemaker:{call.region}:{call.account}:{SEGMENTS[shape.kind]}/"
    if shape.kind is not EntityKind.ARTIFACT:
        given = params[shape.member("Name")]
        return str(given if given.startswith("arn:") else root + given.lower())
    named = [str(params["ArtifactArn"])] if "ArtifactArn" in params else []
    named += [root + artifact_name(params["Source"]["SourceUri"])] if "Source" in params else []
    if not named:
        raise errors.INVALID("Either ArtifactArn or Source must be specified.")
    if named[0] != named[-1]:  # version 3 of the SDK gives both
        raise errors.INVALID("ArtifactArn and Source name different artifacts: give one of them.")
    return named[0]


def _few(properties: dict[str, str]) -> dict[str, str]:
    if len(properties) > PROPERTIES_MAX:
        raise errors.INVALID(f"Properties must not be more than {PROPERTIES_MAX}; there would be {len(properties)}.")
    return properties

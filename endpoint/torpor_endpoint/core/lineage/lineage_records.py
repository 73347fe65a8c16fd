"""The records of lineage: entities, and associations from one to another."""

import hashlib
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from torpor_container.frozen_class import frozen


class EntityKind(StrEnum):
    """The LineageType of an entity."""

    ARTIFACT = "Artifact"
    ACTION = "Action"
    CONTEXT = "Context"
    TRIAL_COMPONENT = "TrialComponent"


SEGMENTS: Mapping[EntityKind, str] = {
    EntityKind.ARTIFACT: "artifact",
    EntityKind.ACTION: "action",
    EntityKind.CONTEXT: "context",
    EntityKind.TRIAL_COMPONENT: "experiment-trial-component",
}
"""What comes before the name in an ARN."""


@frozen
class LineageEntity:
    """An artifact, an action, a context, or the trial component of a job. `name` is its ARN."""

    name: str
    kind: EntityKind
    title: str  # ArtifactName, ActionName, ContextName; empty for an artifact without one
    type: str  # ArtifactType, ActionType, ContextType, or what a trial component is of
    source: Mapping[str, Any]  # Source, as the API has it
    created_s: float
    modified_s: float
    description: str = ""
    status: str = ""  # of an action
    properties: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)  # MetadataProperties
    kept: bool = True  # False: it is made of another record, and no caller changes it

    @property
    def source_uri(self) -> str:
        return str(self.source["SourceUri"])


@frozen
class LineageAssociation:
    """An edge. `name` has both ARNs, so that there is one from an entity to another."""

    name: str
    source: str
    destination: str
    type: str  # AssociationType; empty if the caller gave none
    created_s: float
    kept: bool = True


def association(source: str, destination: str, type: str, created_s: float, kept: bool = True) -> LineageAssociation:
    return LineageAssociation(f"{source} {destination}", source, destination, type, created_s, kept)


def artifact_name(source_uri: str) -> str:
    """The last part of an artifact's ARN. AWS: "there can be only one artifact with a unique SourceUri"."""
    return hashlib.sha256(source_uri.encode(errors="surrogatepass")).hexdigest()[:32]

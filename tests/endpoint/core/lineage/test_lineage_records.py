"""The records of lineage: what an ARN has before its name, and how an artifact is named by its source."""

from hashlib import sha256

from torpor_endpoint.core.lineage.lineage_records import (
    SEGMENTS,
    EntityKind,
    LineageAssociation,
    LineageEntity,
    artifact_name,
    association,
)


def test_each_kind_of_entity_has_its_word_and_the_segment_of_its_arn() -> None:
    assert {kind.value: segment for kind, segment in SEGMENTS.items()} == {
        "Artifact": "artifact",
        "Action": "action",
        "Context": "context",
        "TrialComponent": "experiment-trial-component",
    }


def test_an_entity_has_the_uri_of_its_source_and_is_kept_unless_it_is_said() -> None:
    entity = LineageEntity("arn", EntityKind.ARTIFACT, "", "DataSet", {"SourceUri": "s3://b/k"}, 0.0, 1.0)
    assert (entity.source_uri, entity.description, entity.status, entity.kept) == ("s3://b/k", "", "", True)


def test_an_association_is_named_by_both_its_ends() -> None:
    edge = association("a", "b", "Produced", 7.0)
    assert (edge.name, edge.source, edge.destination, edge.kept) == ("a b", "a", "b", True)
    assert not association("a", "b", "", 7.0, kept=False).kept
    assert edge == LineageAssociation("a b", "a", "b", "Produced", 7.0)


def test_one_source_has_one_artifact() -> None:
    assert artifact_name("s3://b/k") == sha256(b"s3://b/k").hexdigest()[:32]
    assert len({artifact_name(uri) for uri in ("s3://b/k", "s3://b/l", "\ud800")}) == 3
    assert len(artifact_name("\ud800")) == 32

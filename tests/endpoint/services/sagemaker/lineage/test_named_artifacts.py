"""How a call names an artifact: by its ARN, by its source, or by both, as version 3 of the SDK does."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_endpoint.services.sagemaker.lineage.lineage_context import Lineage
from torpor_endpoint.services.sagemaker.lineage.lineage_operations import OPERATIONS

ROWS, OTHERS = {"SourceUri": "s3://any/rows"}, {"SourceUri": "s3://any/others"}


class LineagePlane:
    """The operations of lineage over a database in memory."""

    def __init__(self) -> None:
        self._plane = InMemoryControlPlane()
        self._lineage = Lineage(self._plane.store, tuple, lambda: 0.0)
        self.close = self._plane.close

    def __call__(self, operation: str, **params: Any) -> Any:
        return OPERATIONS[operation](self._lineage, Call(operation, params, "us-east-1", "123456789012", "id"))

    def refusal(self, **params: Any) -> str:
        with pytest.raises(AwsError) as error:
            self("DeleteArtifact", **params)
        return error.value.message


@pytest.fixture
def plane() -> Iterator[LineagePlane]:
    plane = LineagePlane()
    yield plane
    plane.close()


@pytest.mark.parametrize("names", [("ArtifactArn",), ("Source",), ("ArtifactArn", "Source")])
def test_an_artifact_is_deleted_by_arn_or_source_or_both(plane: LineagePlane, names: tuple[str, ...]) -> None:
    arn = plane("CreateArtifact", Source=ROWS, ArtifactType="DataSet")["ArtifactArn"]
    given: dict[str, Any] = {"ArtifactArn": arn, "Source": ROWS}
    assert plane("DeleteArtifact", **{name: given[name] for name in names})["ArtifactArn"] == arn
    assert plane("ListArtifacts")["ArtifactSummaries"] == []


def test_names_of_two_artifacts_or_of_none_are_refused_and_nothing_is_deleted(plane: LineagePlane) -> None:
    arn = plane("CreateArtifact", Source=ROWS, ArtifactType="DataSet")["ArtifactArn"]
    plane("CreateArtifact", Source=OTHERS, ArtifactType="DataSet")
    assert "name different artifacts" in plane.refusal(ArtifactArn=arn, Source=OTHERS)
    assert "Either ArtifactArn or Source" in plane.refusal()
    assert len(plane("ListArtifacts")["ArtifactSummaries"]) == 2

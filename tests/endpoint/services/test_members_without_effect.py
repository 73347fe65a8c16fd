"""The tables of the members that are kept without effect, held against the code that could read them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import torpor_endpoint
from torpor_account.aws.service_models import Shape, service_model
from torpor_endpoint.services.service_register import SERVICES

ENDPOINT = Path(torpor_endpoint.__file__).parent
ALIKE = ENDPOINT / "services" / "jobs" / "job_operations.py"
JOBS = {"CreateTrainingJob": "training", "CreateProcessingJob": "processing", "CreateTransformJob": "transform"}
REFUSED = {
    # rules of the job name what contains them, or refuse all but what they name
    "AlgorithmSpecification.AlgorithmName",
    "InputDataConfig.DataSource.FileSystemDataSource",
    "InputDataConfig.DataSource.DatasetSource",
    "ResourceConfig.InstanceGroups.InstanceGroupName",
    "ProcessingInputs.DatasetDefinition.AthenaDatasetDefinition",
    "ProcessingInputs.DatasetDefinition.RedshiftDatasetDefinition",
    "ProcessingInputs.DatasetDefinition.DataDistributionType",
    "ProcessingInputs.DatasetDefinition.InputMode",
    "ProcessingOutputConfig.Outputs.FeatureStoreOutput.FeatureGroupName",
    "ServerlessJobConfig",
    "MlflowConfig",
    "ModelPackageConfig",
    "SessionChainingConfig",
}
SHOWN_ALONE = {
    # named in the code for the description of the job alone
    "OutputDataConfig.KmsKeyId",
    "EnableNetworkIsolation",
    "EnableInterContainerTrafficEncryption",
    "EnableManagedSpotTraining",
}
LISTED = {operation: set(names) for one in SERVICES for operation, names in one.tables().without_effect.items()}


def source(folder: str) -> str:
    """The code of the operations, with what those of all jobs share, and that of the decisions behind them."""
    rooms = (ENDPOINT / "services" / folder, ENDPOINT / "core" / folder)
    files = [path for room in rooms for path in room.rglob("*.py") if path.name != "differences.py"]
    return "".join(path.read_text() for path in [*files, ALIKE])


def unread(shape: Shape, code: str, path: str = "") -> Iterator[str]:
    """The members that the code does not name, within the structures that it names."""
    for name, member in shape.members.items():
        inside = member.member if member.type_name == "list" else member
        if f"{path}{name}" in REFUSED:
            continue
        if f'"{name}"' not in code:
            yield f"{path}{name}"
        elif inside.type_name == "structure" and inside.name != "Tag":
            yield from unread(inside, code, f"{path}{name}.")


@pytest.mark.parametrize(("operation", "folder"), JOBS.items())
def test_a_member_of_a_job_is_read_by_the_code_or_listed_as_without_effect(operation: str, folder: str) -> None:
    shape = service_model("sagemaker").operation_model(operation).input_shape
    assert set(unread(shape, source(folder))) == LISTED[operation] - SHOWN_ALONE


@pytest.mark.parametrize("operation", LISTED)
def test_a_listed_member_is_one_of_the_service_model(operation: str) -> None:
    for path in LISTED[operation]:
        shape = service_model("sagemaker").operation_model(operation).input_shape
        for name in path.split("."):
            shape = shape.members[name]
            shape = shape.member if shape.type_name == "list" else shape


def test_the_members_of_variants_and_configurations_without_effect_are_listed_with_their_paths() -> None:
    known = LISTED["CreateEndpointConfig"]
    assert {"MetricsConfig", "ProductionVariants.RoutingConfig", "DataCaptureConfig.KmsKeyId"} <= known

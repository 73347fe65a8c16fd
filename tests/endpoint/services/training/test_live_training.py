"""Training behind the one port: a model is trained, then served; and a killed endpoint ends its script."""

from pathlib import Path
from typing import Any

from tests.endpoint.helpers.constant_models import number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.services.helpers.training_in_folder import job, sourcedir
from tests.helpers.processes import marked
from tests.helpers.waiting import soon, until

CONSTANT = """
import os
import joblib
from sklearn.dummy import DummyRegressor
joblib.dump(DummyRegressor(strategy="constant", constant=42).fit([[0]], [42]), os.environ["SM_MODEL_DIR"] + "/m.joblib")
"""


def ended(live: LiveEndpoint, name: str) -> Any:
    """DescribeTrainingJob's answer once the job has ended."""

    def described() -> Any:
        found = live.sagemaker.describe_training_job(TrainingJobName=name)
        return found if "TrainingEndTime" in found else None

    return until(described, 60.0, 0.05)


def test_a_model_is_trained_then_served(live: LiveEndpoint) -> None:
    put(live.folder("bucket"), {"code/sourcedir.tar.gz": sourcedir(CONSTANT)})
    live.sagemaker.create_training_job(**job("live"))
    described = ended(live, "live")
    assert described["TrainingJobStatus"] == "Completed", described
    assert described["ModelArtifacts"]["S3ModelArtifacts"] == "s3://bucket/jobs/live/output/model.tar.gz"
    endpoint = live.deploy("trained", Variant(many("bucket/jobs")))
    assert number_of(live.invoke(endpoint, b"1", TargetModel="live/output/model.tar.gz")) == 42.0
    live.sagemaker.delete_endpoint(EndpointName=endpoint)


def test_a_killed_endpoint_takes_its_script_along(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path) as live:
        put(live.folder("bucket"), {"code/sourcedir.tar.gz": sourcedir("import time; time.sleep(600)")})
        live.sagemaker.create_training_job(**job("cut", Environment={"MARK": str(tmp_path)}))
        assert soon(lambda: bool(marked(f"MARK={tmp_path}")), 60)
        live.kill()
        assert soon(lambda: not marked(f"MARK={tmp_path}"))
        live.start()
        assert "The endpoint stopped" in ended(live, "cut")["FailureReason"]
        assert not (tmp_path / "training" / "cut").exists()

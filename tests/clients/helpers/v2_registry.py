"""The model registry and the baseline of a monitor, with version 2 of the SageMaker Python SDK."""

from pathlib import Path
from typing import Any

from tests.clients.helpers.sagemaker_endpoint import SageMakerEndpoint, Steps, close


def registry(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from botocore.exceptions import ClientError
    from sagemaker import ModelPackage, get_execution_role, image_uris
    from sagemaker.deserializers import CSVDeserializer
    from sagemaker.model import Model
    from sagemaker.model_metrics import MetricsSource, ModelMetrics
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import CSVSerializer

    role, bucket = get_execution_role(session), session.default_bucket()
    artifact = S3Uploader.upload(around.path("booster.tar.gz"), f"s3://{bucket}/registered", None)
    image = image_uris.retrieve("xgboost", session.boto_region_name, "1.7-1")
    trained = Model(image, artifact, role, sagemaker_session=session)
    measured = ModelMetrics(model_statistics=MetricsSource("application/json", f"s3://{bucket}/measured.json"))
    with step("Model.register, a version of a group that comes with it"):
        package = trained.register(
            content_types=["text/csv"],
            response_types=["text/csv"],
            inference_instances=["ml.m5.large"],
            transform_instances=["ml.m5.large"],
            model_package_group_name="houses",
            model_metrics=measured,
            approval_status="PendingManualApproval",
            customer_metadata_properties={"trained": "here"},
            description="houses by XGBoost",
        )
        assert package.model_package_arn.endswith(":model-package/houses/1"), package.model_package_arn
    arn = package.model_package_arn
    with step("list_model_packages and describe_model_package of boto3"):
        listed = session.sagemaker_client.list_model_packages(ModelPackageGroupName="houses")
        assert [one["ModelPackageVersion"] for one in listed["ModelPackageSummaryList"]] == [1]
        shown = session.sagemaker_client.describe_model_package(ModelPackageName=arn)
        assert shown["CustomerMetadataProperties"] == {"trained": "here"}, shown
        assert shown["ModelMetrics"]["ModelQuality"]["Statistics"]["S3Uri"] == f"s3://{bucket}/measured.json", shown
    with step("a model of a version that is not approved is refused"):
        refusal = ""
        try:
            session.create_model("early", role, {"ModelPackageName": arn})
        except ClientError as refused:
            refusal = str(refused)
        assert "Approved" in refusal, refusal
    with step("ModelPackage.update_approval_status"):
        package.update_approval_status("Rejected", "not yet")
        shown = session.sagemaker_client.describe_model_package(ModelPackageName=arn)
        assert (shown["ModelApprovalStatus"], shown["ApprovalDescription"]) == ("Rejected", "not yet"), shown
    with step("ModelPackage.deploy, which approves its version itself, and predict"):
        again = ModelPackage(role=role, model_package_arn=arn, sagemaker_session=session)
        again.deploy(1, "ml.m5.large", endpoint_name="registered", wait=False)
        session.wait_for_endpoint("registered", poll=1)
        predictor = Predictor("registered", session, CSVSerializer(), CSVDeserializer())
        close([number for row in predictor.predict(around.rows) for number in row], around.expected["booster"])
        predictor.delete_endpoint()
    with step("ModelPackage.update_customer_metadata, remove, and the group deleted"):
        package.update_customer_metadata({"seen": "twice"})
        package.remove_customer_metadata_properties(["trained"])
        shown = session.sagemaker_client.describe_model_package(ModelPackageName=arn)
        assert shown["CustomerMetadataProperties"] == {"seen": "twice"}, shown
        session.sagemaker_client.delete_model_package(ModelPackageName=arn)
        session.sagemaker_client.delete_model_package_group(ModelPackageGroupName="houses")


def baseline(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker import get_execution_role
    from sagemaker.model_monitor import DefaultModelMonitor
    from sagemaker.model_monitor.dataset_format import DatasetFormat

    rows = Path(around.path("seen.csv"))
    rows.write_text("rooms,price\n" + "".join(f"{number % 7},{number}.5\n" for number in range(50)))
    with step("DefaultModelMonitor.suggest_baseline, its statistics and constraints"):
        monitor = DefaultModelMonitor(
            get_execution_role(session), instance_type="ml.m5.large", sagemaker_session=session
        )
        output = f"s3://{session.default_bucket()}/baseline"
        monitor.suggest_baseline(str(rows), DatasetFormat.csv(header=True), output_s3_uri=output, wait=True, logs=False)
        found = monitor.baseline_statistics().body_dict
        assert found["dataset"]["item_count"] == 50, found
        named = [one["name"] for one in monitor.suggested_constraints().body_dict["features"]]
        assert named == ["rooms", "price"], named

"""The model registry by the resource classes of version 3 of the SageMaker Python SDK."""

from typing import Any

from tests.clients.helpers.sagemaker_endpoint import SageMakerEndpoint, Steps

POLL_S = 1


def registry(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.helper.session_helper import get_execution_role
    from sagemaker.core.resources import Endpoint, EndpointConfig, Model, ModelPackage, ModelPackageGroup
    from sagemaker.core.shapes import ContainerDefinition, ProductionVariant

    bucket, role = session.default_bucket(), get_execution_role(session)
    session.upload_data(around.path("linear.tar.gz"), bucket, "registered")
    with step("ModelPackageGroup.create, get, get_all"):
        group = ModelPackageGroup.create(model_package_group_name="houses", model_package_group_description="by city")
        assert ModelPackageGroup.get("houses").model_package_group_description == "by city"
        assert [one.model_package_group_name for one in ModelPackageGroup.get_all()] == ["houses"]
    artifact = f"s3://{bucket}/registered/linear.tar.gz"
    with step("ModelPackage.create fails in the SDK itself: it wants a name that AWS's answer lacks"):
        refused = ""
        try:
            ModelPackage.create(model_package_group_name="houses", model_approval_status="PendingManualApproval")
        except KeyError as error:
            refused = str(error)
        assert "ModelPackageName" in refused, refused or "it was made, as it never was before"
    with step("a version made and approved by boto3; ModelPackage.get"):
        containers = [{"Image": "torpor", "ModelDataUrl": artifact}]
        arn = session.sagemaker_client.create_model_package(
            ModelPackageGroupName="houses",
            InferenceSpecification={"Containers": containers, "SupportedContentTypes": ["text/csv"]},
            ModelApprovalStatus="PendingManualApproval",
        )["ModelPackageArn"]
        assert arn.endswith(":model-package/houses/2"), arn
        session.sagemaker_client.update_model_package(
            ModelPackageArn=arn, ModelApprovalStatus="Approved", ApprovalDescription="it is good"
        )
        package = ModelPackage.get(arn)
        assert (package.model_package_status, package.approval_description) == ("Completed", "it is good"), package
    with step("Model.create of the version, deployed: it answers"):
        Model.create(
            model_name="packaged",
            primary_container=ContainerDefinition(model_package_name=arn),
            execution_role_arn=role,
        )
        variant = ProductionVariant(
            variant_name="AllTraffic", model_name="packaged", instance_type="ml.m5.large", initial_instance_count=1
        )
        EndpointConfig.create(endpoint_config_name="packaged", production_variants=[variant])
        endpoint = Endpoint.create(endpoint_name="packaged", endpoint_config_name="packaged")
        endpoint.wait_for_status("InService", poll=POLL_S)
        row = ",".join(map(str, around.rows[0]))
        answer = endpoint.invoke(body=row, content_type="text/csv", accept="text/csv")
        assert float(answer.body.read().decode())
        endpoint.delete()
        endpoint.wait_for_delete(poll=POLL_S)
    with step("ModelPackageGroup.delete and wait_for_delete"):
        for number in (1, 2):
            session.sagemaker_client.delete_model_package(ModelPackageName=arn.removesuffix("2") + str(number))
        group.delete()
        group.wait_for_delete(poll=POLL_S)

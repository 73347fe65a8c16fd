"""The model registry by the resource classes of version 3 of the SageMaker Python SDK."""

from typing import Any

from tests.clients.helpers.sagemaker_endpoint import SageMakerEndpoint, Steps

POLL_S = 1


def registry(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.helper.session_helper import get_execution_role
    from sagemaker.core.resources import Endpoint, EndpointConfig, Model, ModelPackage, ModelPackageGroup
    from sagemaker.core.shapes import (
        ContainerDefinition,
        InferenceSpecification,
        ModelPackageContainerDefinition,
        ProductionVariant,
    )

    bucket, role = session.default_bucket(), get_execution_role(session)
    session.upload_data(around.path("linear.tar.gz"), bucket, "registered")
    with step("ModelPackageGroup.create, get, get_all"):
        group = ModelPackageGroup.create(model_package_group_name="houses", model_package_group_description="by city")
        assert ModelPackageGroup.get("houses").model_package_group_description == "by city"
        assert [one.model_package_group_name for one in ModelPackageGroup.get_all()] == ["houses"]
    container = ModelPackageContainerDefinition(
        image="torpor", model_data_url=f"s3://{bucket}/registered/linear.tar.gz"
    )
    specification = InferenceSpecification(containers=[container], supported_content_types=["text/csv"])
    with step("ModelPackage.create with a group, wait_for_status, get"):
        package = ModelPackage.create(
            model_package_group_name="houses",
            inference_specification=specification,
            model_approval_status="PendingManualApproval",
        )
        arn = package.model_package_arn
        assert arn.endswith(":model-package/houses/1"), arn
        package = ModelPackage.get(arn)
        package.wait_for_status("Completed", poll=POLL_S)
    with step("ModelPackage.update approves it; it is deployed and answers"):
        package.update(model_approval_status="Approved", approval_description="it is good")
        assert ModelPackage.get(arn).approval_description == "it is good"
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
        answer = endpoint.invoke(body=b"1,2,3,4", content_type="text/csv", accept="text/csv")
        assert float(answer.body.read().decode())
        endpoint.delete()
        endpoint.wait_for_delete(poll=POLL_S)
    with step("ModelPackage.delete, ModelPackageGroup.delete and wait_for_delete"):
        package.delete()
        group.delete()
        group.wait_for_delete(poll=POLL_S)

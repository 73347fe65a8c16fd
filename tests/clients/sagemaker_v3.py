"""Version 3 of the SageMaker Python SDK, unchanged, against Torpor: the resource classes, and ModelBuilder.

    python -m tests.clients.sagemaker_v3 --torpor .venv/bin

One line for each step; the exit code is 1 if one failed.
"""

import json
import sys
from typing import Any

from tests.clients.helpers.sagemaker_endpoint import SageMakerEndpoint, Steps, auth_options, close, sagemaker_endpoint
from tests.clients.helpers.sdk_lineage import lineage, lineage_resources
from tests.clients.helpers.v3_registry import registry

POLL_S = 1


def main() -> int:
    step = Steps()
    with sagemaker_endpoint(*auth_options()) as around:
        from importlib.metadata import version

        from sagemaker.core.helper.session_helper import Session

        print(f"sagemaker {version('sagemaker')}, sagemaker-core {version('sagemaker-core')}")
        session = Session()
        identity(step, session)
        resources(step, around, session)
        variants(step, around, session)
        rollouts(step, around, session)
        components(step, around, session)
        serverless(step, around, session)
        model_builder(step, around, session)
        asynchronous(step, around, session)
        transforms(step, around, session)
        registry(step, around, session)
        lineage(step, session, "sagemaker.core.lineage")
        lineage_resources(step, session)
        with step("nothing was asked of AWS"):
            assert not around.outside.wanted, around.outside.wanted
    print(f"{step.failed} failed")
    return min(step.failed, 1)


def identity(step: Steps, session: Any) -> None:
    from sagemaker.core.helper.session_helper import get_execution_role

    with step("get_execution_role"):
        assert get_execution_role(session) == "arn:aws:iam::123456789012:role/TorporRole"
    with step("default_bucket"):
        assert session.default_bucket() == "sagemaker-us-east-1-123456789012"


def resources(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.helper.session_helper import get_execution_role
    from sagemaker.core.resources import Endpoint, EndpointConfig, Model
    from sagemaker.core.shapes import ContainerDefinition, MultiModelConfig, ProductionVariant

    prefix = put(around, session, "many", "booster", "linear")
    with step("Model.create, multi-model"):
        container = ContainerDefinition(
            image="torpor",
            mode="MultiModel",
            model_data_url=prefix,
            multi_model_config=MultiModelConfig(model_cache_setting="Enabled"),
        )
        role = get_execution_role(session)
        model = Model.create(model_name="many", primary_container=container, execution_role_arn=role)
        assert model.model_arn.endswith(":model/many")
    with step("EndpointConfig.create"):
        variant = ProductionVariant(
            variant_name="AllTraffic", model_name="many", instance_type="ml.m5.large", initial_instance_count=1
        )
        config = EndpointConfig.create(endpoint_config_name="many", production_variants=[variant])
        assert config.production_variants[0].initial_variant_weight == 1.0
    with step("Endpoint.create, wait_for_status"):
        endpoint = Endpoint.create(endpoint_name="many", endpoint_config_name="many")
        endpoint.wait_for_status("InService", poll=POLL_S)
    with step("invoke with target_model"):
        answers(endpoint, around, "booster", target_model="booster.tar.gz")
        answers(endpoint, around, "linear", target_model="linear.tar.gz")
    with step("get_all, of endpoints, configs and models"):
        assert [found.endpoint_name for found in Endpoint.get_all()] == ["many"]
        assert [found.endpoint_config_name for found in EndpointConfig.get_all()] == ["many"]
        assert [found.model_name for found in Model.get_all(name_contains="man")] == ["many"]
        assert not list(Model.get_all(name_contains="few"))
    with step("update"):
        EndpointConfig.create(endpoint_config_name="more", production_variants=[variant])
        endpoint.endpoint_config_name = "more"
        endpoint.update()
        endpoint.wait_for_status("InService", poll=POLL_S)
        assert Endpoint.get("many").endpoint_config_name == "more"
    with step("delete, wait_for_delete"):
        endpoint.delete()
        endpoint.wait_for_delete(poll=POLL_S)
        for made in (EndpointConfig.get("many"), EndpointConfig.get("more"), model):
            made.delete()
        assert not list(Model.get_all())


def variants(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.resources import Endpoint, EndpointConfig, Model
    from sagemaker.core.shapes import ContainerDefinition, DesiredWeightAndCapacity, ProductionVariant

    with step("two variants, target_variant, update_weights_and_capacities"):
        for name in ("booster", "linear"):
            container = ContainerDefinition(
                image="torpor", mode="MultiModel", model_data_url=put(around, session, f"split/{name}", name)
            )
            Model.create(model_name=name, primary_container=container)
        both = [
            ProductionVariant(variant_name=name, model_name=name, instance_type="ml.m5.large", initial_instance_count=1)
            for name in ("booster", "linear")
        ]
        EndpointConfig.create(endpoint_config_name="split", production_variants=both)
        endpoint = Endpoint.create(endpoint_name="split", endpoint_config_name="split")
        endpoint.wait_for_status("InService", poll=POLL_S)
        for name in ("booster", "linear"):
            answers(endpoint, around, name, target_model=f"{name}.tar.gz", target_variant=name)
        endpoint.update_weights_and_capacities([DesiredWeightAndCapacity(variant_name="linear", desired_weight=9)])
        endpoint.wait_for_status("InService", poll=POLL_S)
        weights = {variant.variant_name: variant.current_weight for variant in endpoint.production_variants}
        assert weights == {"booster": 1.0, "linear": 9.0}, weights
        endpoint.delete()
        endpoint.wait_for_delete(poll=POLL_S)


def rollouts(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.resources import Endpoint, EndpointConfig, Model
    from sagemaker.core.shapes import (
        Alarm,
        AutoRollbackConfig,
        BlueGreenUpdatePolicy,
        CapacitySize,
        ContainerDefinition,
        DeploymentConfig,
        ProductionVariant,
        RollingUpdatePolicy,
        TrafficRoutingConfig,
    )

    half = CapacitySize(type="CAPACITY_PERCENT", value=50)
    for name in ("booster", "linear"):
        artifact = put(around, session, "rolled", name) + f"{name}.tar.gz"
        model = f"rolled-{name}"
        Model.create(model_name=model, primary_container=ContainerDefinition(image="torpor", model_data_url=artifact))
        variant = ProductionVariant(
            variant_name="AllTraffic", model_name=model, instance_type="ml.m5.large", initial_instance_count=2
        )
        EndpointConfig.create(endpoint_config_name=model, production_variants=[variant])
    session.boto_session.client("cloudwatch").put_metric_alarm(
        AlarmName="rolled-errors",
        Namespace="AWS/SageMaker",
        MetricName="Invocation5XXErrors",
        Dimensions=[{"Name": "EndpointName", "Value": "rolled"}, {"Name": "VariantName", "Value": "AllTraffic"}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=0,
        ComparisonOperator="GreaterThanThreshold",
    )
    endpoint = Endpoint.create(endpoint_name="rolled", endpoint_config_name="rolled-booster")
    endpoint.wait_for_status("InService", poll=POLL_S)
    alarms = AutoRollbackConfig(alarms=[Alarm(alarm_name="rolled-errors")])
    with step("Endpoint.update with DeploymentConfig: a canary"):
        routing = TrafficRoutingConfig(type="CANARY", wait_interval_in_seconds=1, canary_size=half)
        policy = BlueGreenUpdatePolicy(traffic_routing_configuration=routing, termination_wait_in_seconds=1)
        config = DeploymentConfig(blue_green_update_policy=policy, auto_rollback_configuration=alarms)
        endpoint.endpoint_config_name = "rolled-linear"
        endpoint.update(deployment_config=config)
        endpoint.wait_for_status("InService", poll=POLL_S)
        serves(endpoint, around, "linear")
        shown = Endpoint.get("rolled")
        assert shown.endpoint_config_name == "rolled-linear"
        assert shown.last_deployment_config.blue_green_update_policy.traffic_routing_configuration.type == "CANARY"
    with step("Endpoint.update by rolling batches, and once more with retain_deployment_config"):
        rolling = RollingUpdatePolicy(maximum_batch_size=half, wait_interval_in_seconds=1)
        endpoint.endpoint_config_name = "rolled-booster"
        endpoint.update(deployment_config=DeploymentConfig(rolling_update_policy=rolling))
        endpoint.wait_for_status("InService", poll=POLL_S)
        serves(endpoint, around, "booster")
        endpoint.endpoint_config_name = "rolled-linear"
        endpoint.update(retain_deployment_config=True)
        endpoint.wait_for_status("InService", poll=POLL_S)
        serves(endpoint, around, "linear")
        assert Endpoint.get("rolled").last_deployment_config.rolling_update_policy.wait_interval_in_seconds == 1
    endpoint.delete()
    endpoint.wait_for_delete(poll=POLL_S)


def components(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.helper.session_helper import get_execution_role
    from sagemaker.core.resources import Endpoint, EndpointConfig, InferenceComponent
    from sagemaker.core.shapes import (
        InferenceComponentCapacitySize,
        InferenceComponentComputeResourceRequirements,
        InferenceComponentContainerSpecification,
        InferenceComponentDeploymentConfig,
        InferenceComponentRollingUpdatePolicy,
        InferenceComponentRuntimeConfig,
        InferenceComponentSpecification,
        ProductionVariant,
        ProductionVariantManagedInstanceScaling,
    )

    def specification(name: str) -> Any:
        artifact = put(around, session, "apart", name) + f"{name}.tar.gz"
        return InferenceComponentSpecification(
            container=InferenceComponentContainerSpecification(image="torpor", artifact_url=artifact),
            compute_resource_requirements=InferenceComponentComputeResourceRequirements(
                min_memory_required_in_mb=1024, number_of_cpu_cores_required=0.5
            ),
        )

    with step("Endpoint without a model, with managed instance scaling"):
        scaling = ProductionVariantManagedInstanceScaling(status="ENABLED", min_instance_count=0, max_instance_count=3)
        variant = ProductionVariant(
            variant_name="AllTraffic",
            instance_type="ml.m5.xlarge",
            initial_instance_count=1,
            managed_instance_scaling=scaling,
        )
        EndpointConfig.create(
            endpoint_config_name="apart", execution_role_arn=get_execution_role(session), production_variants=[variant]
        )
        endpoint = Endpoint.create(endpoint_name="apart", endpoint_config_name="apart")
        endpoint.wait_for_status("InService", poll=POLL_S)
    with step("InferenceComponent.create, wait_for_status, invoke, get_all"):
        made = {}
        for name in ("booster", "linear"):
            made[name] = InferenceComponent.create(
                inference_component_name=name,
                endpoint_name="apart",
                variant_name="AllTraffic",
                specification=specification(name),
                runtime_config=InferenceComponentRuntimeConfig(copy_count=1),
            )
            made[name].wait_for_status("InService", poll=POLL_S)
            serves(endpoint, around, name, inference_component_name=name)
        found = InferenceComponent.get_all(endpoint_name_equals="apart")
        assert sorted(one.inference_component_name for one in found) == ["booster", "linear"]
    with step("InferenceComponent.update_runtime_configs"):
        made["booster"].update_runtime_configs(desired_runtime_config=InferenceComponentRuntimeConfig(copy_count=2))
        made["booster"].wait_for_status("InService", poll=POLL_S)
        assert InferenceComponent.get("booster").runtime_config.current_copy_count == 2
    with step("InferenceComponent.update by batches"):
        one = InferenceComponentCapacitySize(type="COPY_COUNT", value=1)
        rolling = InferenceComponentRollingUpdatePolicy(maximum_batch_size=one, wait_interval_in_seconds=1)
        made["booster"].update(
            specification=specification("linear"),
            deployment_config=InferenceComponentDeploymentConfig(rolling_update_policy=rolling),
        )
        made["booster"].wait_for_status("InService", poll=POLL_S)
        serves(endpoint, around, "linear", inference_component_name="booster")
        assert InferenceComponent.get("booster").last_deployment_config.rolling_update_policy is not None
    with step("InferenceComponent.delete, wait_for_delete"):
        for component in made.values():
            component.delete()
            component.wait_for_delete(poll=POLL_S)
        assert not list(InferenceComponent.get_all(endpoint_name_equals="apart"))
        endpoint.delete()
        endpoint.wait_for_delete(poll=POLL_S)


def serverless(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    """The SDK's own serverless shape is refused by boto3 before it is sent, so boto3 makes the config."""
    from sagemaker.core.resources import Endpoint, EndpointConfig, Model
    from sagemaker.core.shapes import ContainerDefinition, ProductionVariant, ProductionVariantServerlessConfig

    container = ContainerDefinition(
        image="torpor", mode="MultiModel", model_data_url=put(around, session, "idle", "linear")
    )
    Model.create(model_name="idle", primary_container=container)
    with step("ServerlessConfig by its typed class fails in the SDK itself"):
        typed = ProductionVariantServerlessConfig(memory_size_in_mb=1024, max_concurrency=5)
        variant = ProductionVariant(variant_name="AllTraffic", model_name="idle", serverless_config=typed)
        refused = ""
        try:
            EndpointConfig.create(endpoint_config_name="typed", production_variants=[variant])
        except Exception as error:  # noqa: BLE001  whatever the SDK makes of it
            refused = str(error)
        assert "MemorySizeInMb" in refused, refused or "it was sent, as it never was before"
    with step("multi-model and serverless: the config by boto3, the rest by the SDK"):
        plain = {
            "VariantName": "AllTraffic",
            "ModelName": "idle",
            "ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 5},
        }
        session.sagemaker_client.create_endpoint_config(EndpointConfigName="idle", ProductionVariants=[plain])
        endpoint = Endpoint.create(endpoint_name="idle", endpoint_config_name="idle")
        endpoint.wait_for_status("InService", poll=POLL_S)
        answers(endpoint, around, "linear", target_model="linear.tar.gz")
        endpoint.delete()
        endpoint.wait_for_delete(poll=POLL_S)


def model_builder(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.helper.session_helper import get_execution_role
    from sagemaker.core.training.configs import SourceCode
    from sagemaker.serve.model_builder import ModelBuilder

    with step("ModelBuilder: build, deploy, invoke"):
        artifact = put(around, session, "built", "linear") + "linear.tar.gz"
        builder = ModelBuilder(
            image_uri="torpor",
            s3_model_data_url=artifact,
            role_arn=get_execution_role(session),
            instance_type="ml.m5.large",
            sagemaker_session=session,
        )
        builder.build(model_name="built")
        endpoint = builder.deploy(endpoint_name="built")
        answers(endpoint, around, "linear")
        endpoint.delete()
        endpoint.wait_for_delete(poll=POLL_S)
    if auth_options():
        return  # the root is no role, and the SDK wants one named then, as on AWS
    with step("ModelBuilder with code of its own and no role named"):
        code = SourceCode(source_dir=around.path("code"), entry_script="inference.py")
        builder = ModelBuilder(
            image_uri="torpor",
            s3_model_data_url=artifact,
            source_code=code,
            instance_type="ml.m5.large",
            sagemaker_session=session,
        )
        builder.build(model_name="scripted")
        endpoint = builder.deploy(endpoint_name="scripted")
        text = invoked(endpoint, around)
        assert text.endswith(";ready"), text
        close(text.removesuffix(";ready").split(","), [value + 1000 for value in around.expected["linear"]])


def asynchronous(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.resources import Endpoint, EndpointConfig, Model
    from sagemaker.core.shapes import (
        AsyncInferenceConfig,
        AsyncInferenceOutputConfig,
        ContainerDefinition,
        ProductionVariant,
    )

    bucket = session.default_bucket()
    artifact = put(around, session, "later", "linear") + "linear.tar.gz"
    with step("EndpointConfig.create with AsyncInferenceConfig"):
        container = ContainerDefinition(image="torpor", model_data_url=artifact)
        Model.create(model_name="later", primary_container=container)
        variant = ProductionVariant(
            variant_name="AllTraffic", model_name="later", instance_type="ml.m5.large", initial_instance_count=1
        )
        output = AsyncInferenceOutputConfig(s3_output_path=f"s3://{bucket}/later/out")
        EndpointConfig.create(
            endpoint_config_name="later",
            production_variants=[variant],
            async_inference_config=AsyncInferenceConfig(output_config=output),
        )
        endpoint = Endpoint.create(endpoint_name="later", endpoint_config_name="later")
        endpoint.wait_for_status("InService", poll=POLL_S)
    with step("Endpoint.invoke_async, and its result"):
        s3 = session.boto_session.client("s3")
        s3.put_object(Bucket=bucket, Key="later/in.csv", Body=rows_of(around))
        accepted = endpoint.invoke_async(
            input_location=f"s3://{bucket}/later/in.csv", content_type="text/csv", accept="application/json"
        )
        key = accepted.output_location.removeprefix(f"s3://{bucket}/")
        s3.get_waiter("object_exists").wait(Bucket=bucket, Key=key, WaiterConfig={"Delay": 1})
        close(json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read()), around.expected["linear"])
    endpoint.delete()
    endpoint.wait_for_delete(poll=POLL_S)


def transforms(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.core.resources import Model, TransformJob
    from sagemaker.core.shapes import (
        ContainerDefinition,
        TransformDataSource,
        TransformInput,
        TransformOutput,
        TransformResources,
        TransformS3DataSource,
    )

    bucket = session.default_bucket()
    artifact = put(around, session, "nightly", "booster") + "booster.tar.gz"
    with step("TransformJob.create, wait, get_all"):
        s3 = session.boto_session.client("s3")
        s3.put_object(Bucket=bucket, Key="nightly-in/rows.csv", Body=rows_of(around))
        Model.create(
            model_name="nightly", primary_container=ContainerDefinition(image="torpor", model_data_url=artifact)
        )
        source = TransformS3DataSource(s3_data_type="S3Prefix", s3_uri=f"s3://{bucket}/nightly-in/")
        job = TransformJob.create(
            transform_job_name="nightly",
            model_name="nightly",
            transform_input=TransformInput(
                data_source=TransformDataSource(s3_data_source=source), content_type="text/csv", split_type="Line"
            ),
            transform_output=TransformOutput(
                s3_output_path=f"s3://{bucket}/nightly-out", accept="text/csv", assemble_with="Line"
            ),
            transform_resources=TransformResources(instance_type="ml.m5.large", instance_count=1),
        )
        job.wait(poll=POLL_S)
        assert [one.transform_job_name for one in TransformJob.get_all(status_equals="Completed")] == ["nightly"]
        result = s3.get_object(Bucket=bucket, Key="nightly-out/rows.csv.out")["Body"].read().decode()
        close(result.split(), around.expected["booster"], tolerance=0.01)


def rows_of(around: SageMakerEndpoint) -> bytes:
    """The rows as CSV."""
    return "\n".join(",".join(map(str, row)) for row in around.rows).encode()


def put(around: SageMakerEndpoint, session: Any, prefix: str, *names: str) -> str:
    """Upload artifacts; answer the prefix that they are below."""
    bucket = session.default_bucket()
    for name in names:
        session.upload_data(around.path(f"{name}.tar.gz"), bucket, prefix)
    return f"s3://{bucket}/{prefix}/"


def answers(endpoint: Any, around: SageMakerEndpoint, name: str, **target: str) -> None:
    """Fail unless the endpoint answers with this model's predictions."""
    close(json.loads(invoked(endpoint, around, **target)), around.expected[name])


def serves(endpoint: Any, around: SageMakerEndpoint, name: str, **target: str) -> None:
    """As `answers`, for an endpoint or component of one model, whose JSON has another form for a booster."""
    close(invoked(endpoint, around, accept="text/csv", **target).replace(",", " ").split(), around.expected[name])


def invoked(endpoint: Any, around: SageMakerEndpoint, accept: str = "application/json", **target: str) -> str:
    answer = endpoint.invoke(body=rows_of(around).decode(), content_type="text/csv", accept=accept, **target)
    text: str = answer.body.read().decode()
    return text


if __name__ == "__main__":
    sys.exit(main())

"""Version 2 of the SageMaker Python SDK, unchanged, against Torpor: the calls of a multi-model user, step by step.

    python -m tests.clients.sagemaker_v2 --torpor .venv/bin

One line for each step; the exit code is 1 if one failed. Deployments are waited for as the SDK does it once, which
takes 30 s however quick the endpoint is, and then with a shorter poll.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.clients.helpers.sagemaker_endpoint import SageMakerEndpoint, Steps, auth_options, close, sagemaker_endpoint
from tests.clients.helpers.sdk_lineage import lineage
from tests.clients.helpers.v2_registry import baseline, registry
from tests.clients.helpers.v2_workflows import tuning_job, workflow

POLL_S = 1


def main() -> int:
    step = Steps()
    os.environ["SAGEMAKER_SUPPRESS_V2_WARNING"] = "1"
    with sagemaker_endpoint(*auth_options()) as around:
        import sagemaker

        print(f"sagemaker {sagemaker.__version__}")
        session = sagemaker.Session()
        identity(step, session)
        many_models(step, around, session)
        own_code(step, around, session)
        own_code_for_many(step, around, session)
        serverless(step, around, session)
        variants(step, around, session)
        data_capture(step, around, session)
        pipelines(step, around, session)
        transforms(step, around, session)
        asynchronous(step, around, session)
        components(step, around, session)
        tuning_job(step, around, session)
        workflow(step, around, session)
        registry(step, around, session)
        baseline(step, around, session)
        lineage(step, session, "sagemaker.lineage")
        with step("nothing was asked of AWS"):
            assert not around.outside.wanted, around.outside.wanted
    print(f"{step.failed} failed")
    return min(step.failed, 1)


def identity(step: Steps, session: Any) -> None:
    from sagemaker import get_execution_role

    with step("get_execution_role"):
        assert get_execution_role(session) == "arn:aws:iam::123456789012:role/TorporRole"
    with step("a role by its name"):
        assert session.expand_role("TorporRole") == "arn:aws:iam::123456789012:role/TorporRole"
    with step("default_bucket"):
        assert session.default_bucket() == "sagemaker-us-east-1-123456789012"
        assert session.boto_session.resource("s3").Bucket(session.default_bucket()).creation_date


def many_models(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker import get_execution_role, image_uris
    from sagemaker.deserializers import CSVDeserializer, JSONDeserializer
    from sagemaker.multidatamodel import MultiDataModel
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import CSVSerializer, JSONSerializer
    from sagemaker.sklearn import SKLearnPredictor

    prefix = f"s3://{session.default_bucket()}/many/"
    image = image_uris.retrieve("xgboost", session.boto_region_name, "1.7-1")
    many = MultiDataModel("many", prefix, image_uri=image, role=get_execution_role(session), sagemaker_session=session)
    predictor = Predictor("many", session, CSVSerializer(), CSVDeserializer())
    with step("MultiDataModel.deploy, waited for as the SDK does"):
        many.deploy(1, "ml.m5.large", endpoint_name="many")
    with step("add_model from a file"):
        assert many.add_model(around.path("booster.tar.gz"), "houses/booster.tar.gz").startswith(prefix)
    with step("add_model from S3"):
        elsewhere = S3Uploader.upload(around.path("linear.tar.gz"), f"s3://{session.default_bucket()}/trained", None)
        many.add_model(elsewhere, "linear.tar.gz")
    with step("list_models"):
        assert sorted(many.list_models()) == ["houses/booster.tar.gz", "linear.tar.gz"]
    with step("predict CSV, an XGBoost model"):
        (answer,) = predictor.predict(around.rows, target_model="houses/booster.tar.gz")
        close(answer, around.expected["booster"])
    with step("predict JSON, a scikit-learn model"):
        predictor.serializer, predictor.deserializer = JSONSerializer(), JSONDeserializer()
        close(predictor.predict(around.rows, target_model="/linear.tar.gz"), around.expected["linear"])
    with step("predict NPY, a scikit-learn model"):
        numpy = SKLearnPredictor("many", session)
        close(numpy.predict(around.rows, target_model="linear.tar.gz"), around.expected["linear"])
    with step("delete_model, then delete_endpoint: its config goes first"):
        predictor.delete_model()
        predictor.delete_endpoint()
        gone(session, "many")


def own_code(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    """Script mode: the SDK uploads the code, and leaves it to the container to fetch it."""
    from sagemaker.deserializers import StringDeserializer
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import CSVSerializer
    from sagemaker.sklearn import SKLearnModel
    from sagemaker.xgboost import XGBoostModel

    bucket = session.default_bucket()
    with step("SKLearnModel with an entry point of its own, and the role of the config file"):
        artifact = S3Uploader.upload(around.path("linear.tar.gz"), f"s3://{bucket}/single", None)
        model = SKLearnModel(
            artifact, None, "inference.py", "1.2-1", source_dir=around.path("code"), sagemaker_session=session
        )
        predictor = deployed(session, model, "scripted")
        predictor.deserializer = StringDeserializer()
        answer = predictor.predict(around.rows)
        assert answer.endswith(";ready"), answer
        close(answer.removesuffix(";ready").split(","), [value + 1000 for value in around.expected["linear"]])
        delete(predictor)
    with step("SKLearnModel in isolation: the SDK packs the code into the artifact"):
        model = SKLearnModel(
            artifact,
            None,
            "inference.py",
            "1.2-1",
            source_dir=around.path("code"),
            enable_network_isolation=True,
            sagemaker_session=session,
        )
        predictor = deployed(session, model, "repacked")
        predictor.deserializer = StringDeserializer()
        assert predictor.predict(around.rows).endswith(";ready")
        delete(predictor)
    with step("XGBoostModel with an entry point of its own"):
        artifact = S3Uploader.upload(around.path("booster.tar.gz"), f"s3://{bucket}/single", None)
        script = around.path("xgboost_code/inference.py")
        model = XGBoostModel(artifact, None, script, "1.7-1", sagemaker_session=session)
        predictor = deployed(session, model, "boosted")
        predictor.serializer = CSVSerializer()
        (answer,) = predictor.predict(around.rows)
        close(answer, [value + 2000 for value in around.expected["booster"]], tolerance=0.01)
        delete(predictor)


def own_code_for_many(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.deserializers import StringDeserializer
    from sagemaker.multidatamodel import MultiDataModel
    from sagemaker.sklearn import SKLearnModel

    with step("MultiDataModel of an SKLearnModel: one script for all its models"):
        bucket = session.default_bucket()
        one = SKLearnModel(
            None, None, "inference.py", "1.2-1", source_dir=around.path("code"), sagemaker_session=session
        )
        many = MultiDataModel("many-scripted", f"s3://{bucket}/scripted/", model=one, sagemaker_session=session)
        predictor = many.deploy(1, "ml.m5.large", endpoint_name="many-scripted", wait=False)
        session.wait_for_endpoint("many-scripted", poll=POLL_S)
        many.add_model(around.path("linear.tar.gz"), "first.tar.gz")
        predictor.deserializer = StringDeserializer()
        answer = predictor.predict(around.rows, target_model="first.tar.gz")
        close(answer.removesuffix(";ready").split(","), [value + 1000 for value in around.expected["linear"]])
        delete(predictor)


def serverless(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.deserializers import JSONDeserializer
    from sagemaker.model import Model
    from sagemaker.multidatamodel import MultiDataModel
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import CSVSerializer, JSONSerializer
    from sagemaker.serverless import ServerlessInferenceConfig

    bucket, role = session.default_bucket(), None
    with step("Model.deploy with a serverless_inference_config"):
        artifact = S3Uploader.upload(around.path("linear.tar.gz"), f"s3://{bucket}/single", None)
        model = Model("torpor", artifact, role, name="little", sagemaker_session=session, predictor_cls=Predictor)
        config = ServerlessInferenceConfig(memory_size_in_mb=1024, max_concurrency=5)
        predictor = model.deploy(serverless_inference_config=config, endpoint_name="little", wait=False)
        session.wait_for_endpoint("little", poll=POLL_S)
        predictor.serializer, predictor.deserializer = JSONSerializer(), JSONDeserializer()
        close(predictor.predict(around.rows), around.expected["linear"])
        variant = session.sagemaker_client.describe_endpoint(EndpointName="little")["ProductionVariants"][0]
        assert variant["CurrentServerlessConfig"] == {"MemorySizeInMB": 1024, "MaxConcurrency": 5}
        delete(predictor)
    with step("MultiDataModel, then a serverless config by boto3: Torpor's own pair"):
        many = MultiDataModel("idle", f"s3://{bucket}/idle/", image_uri="torpor", role=role, sagemaker_session=session)
        many.add_model(around.path("booster.tar.gz"), "booster.tar.gz")
        session.create_model("idle", role, many.prepare_container_def())
        variant = {"VariantName": "AllTraffic", "ModelName": "idle", "ServerlessConfig": config._to_request_dict()}
        session.sagemaker_client.create_endpoint_config(EndpointConfigName="idle", ProductionVariants=[variant])
        session.create_endpoint("idle", "idle", wait=False)
        session.wait_for_endpoint("idle", poll=POLL_S)
        predictor = Predictor("idle", session, CSVSerializer(), JSONDeserializer())
        answer = predictor.predict(around.rows, target_model="booster.tar.gz")
        close(answer, around.expected["booster"])
        delete(predictor)


def variants(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker import container_def, get_execution_role, production_variant
    from sagemaker.deserializers import JSONDeserializer
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import CSVSerializer

    bucket = session.default_bucket()
    predictor = Predictor("split", session, CSVSerializer(), JSONDeserializer())
    with step("two variants: production_variant, endpoint_from_production_variants, target_variant"):
        for name in ("booster", "linear"):
            S3Uploader.upload(around.path(f"{name}.tar.gz"), f"s3://{bucket}/split/{name}", None)
            container = container_def("torpor", f"s3://{bucket}/split/{name}/", container_mode="MultiModel")
            session.create_model(name, get_execution_role(session), container)
        both = [
            production_variant("booster", "ml.m5.large", 1, variant_name="A", initial_weight=1),
            production_variant("linear", "ml.m5.large", 1, variant_name="B", initial_weight=3),
        ]
        session.endpoint_from_production_variants("split", both, wait=False)
        session.wait_for_endpoint("split", poll=POLL_S)
        for variant, name in (("A", "booster"), ("B", "linear")):
            answer = predictor.predict(around.rows, target_model=f"{name}.tar.gz", target_variant=variant)
            close(answer, around.expected[name])
    with step("update_endpoint to one variant of another instance type"):
        predictor.update_endpoint(1, "ml.m5.xlarge", model_name="linear", wait=False)
        session.wait_for_endpoint("split", poll=POLL_S)
        close(predictor.predict(around.rows, target_model="linear.tar.gz"), around.expected["linear"])
        described = session.sagemaker_client.describe_endpoint(EndpointName="split")
        assert [variant["VariantName"] for variant in described["ProductionVariants"]] == ["AllTraffic"]
        config = session.sagemaker_client.describe_endpoint_config(EndpointConfigName=described["EndpointConfigName"])
        assert config["ProductionVariants"][0]["InstanceType"] == "ml.m5.xlarge"
    with step("delete_endpoint after an update, and without its config"):
        predictor.delete_endpoint(delete_endpoint_config=False)
        gone(session, "split")


def data_capture(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.deserializers import JSONDeserializer
    from sagemaker.model import Model
    from sagemaker.model_monitor import DataCaptureConfig
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Downloader, S3Uploader
    from sagemaker.serializers import JSONSerializer

    bucket = session.default_bucket()
    with step("Model.deploy with a DataCaptureConfig, and S3Downloader for what was captured"):
        artifact = S3Uploader.upload(around.path("linear.tar.gz"), f"s3://{bucket}/single", None)
        model = Model("torpor", artifact, None, name="noted", sagemaker_session=session, predictor_cls=Predictor)
        config = DataCaptureConfig(True, 100, f"s3://{bucket}/captured", sagemaker_session=session)
        predictor = model.deploy(1, "ml.m5.large", endpoint_name="noted", data_capture_config=config, wait=False)
        session.wait_for_endpoint("noted", poll=POLL_S)
        predictor.serializer, predictor.deserializer = JSONSerializer(), JSONDeserializer()
        answer = predictor.predict(around.rows)
        delete(predictor)
        gone(session, "noted")
        (file,) = S3Downloader.list(f"s3://{bucket}/captured/noted/AllTraffic", sagemaker_session=session)
        (line,) = S3Downloader.read_file(file, session).splitlines()
        captured = json.loads(line)["captureData"]
        assert captured["endpointInput"]["encoding"] == captured["endpointOutput"]["encoding"] == "JSON"
        assert json.loads(captured["endpointOutput"]["data"]) == answer
        close(answer, around.expected["linear"])


PREPARE = """
def model_fn(model_dir):
    return None

def transform_fn(model, body, content_type, accept):
    text = body if isinstance(body, str) else body.decode()
    return text.replace("row ", ""), "text/csv"
"""
SPOKEN = """
def model_fn(model_dir):
    return None

def transform_fn(model, body, content_type, accept):
    for word in body.decode().split():
        yield word + " "
"""


def pipelines(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.deserializers import CSVDeserializer
    from sagemaker.iterators import ByteIterator
    from sagemaker.model import Model
    from sagemaker.pipeline import PipelineModel
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import StringSerializer
    from sagemaker.sklearn import SKLearnModel

    bucket = session.default_bucket()
    artifact = S3Uploader.upload(around.path("linear.tar.gz"), f"s3://{bucket}/single", None)

    def scripted(name: str, source: str) -> Any:
        script = Path(around.path(name)) / "inference.py"
        script.parent.mkdir()
        script.write_text(source)
        return SKLearnModel(artifact, None, str(script), "1.2-1", predictor_cls=Predictor, sagemaker_session=session)

    with step("PipelineModel: a script before an XGBoost model"):
        boosted = S3Uploader.upload(around.path("booster.tar.gz"), f"s3://{bucket}/single", None)
        models = [scripted("prepare", PREPARE), Model("torpor", boosted, None, sagemaker_session=session)]
        pipeline = PipelineModel(models, None, Predictor, "piped", sagemaker_session=session)
        predictor = pipeline.deploy(1, "ml.m5.large", endpoint_name="piped", wait=False)
        session.wait_for_endpoint("piped", poll=POLL_S)
        predictor.serializer, predictor.deserializer = StringSerializer(), CSVDeserializer()
        rows = "\n".join("row " + ",".join(map(str, row)) for row in around.rows)
        answer = predictor.predict(rows)
        close([number for row in answer for number in row], around.expected["booster"], tolerance=0.01)
        delete(predictor)
    with step("predict_stream"):
        predictor = deployed(session, scripted("spoken", SPOKEN), "spoken")
        predictor.serializer = StringSerializer()
        parts = list(predictor.predict_stream("to be or", iterator=ByteIterator))
        assert b"".join(parts) == b"to be or ", parts
        delete(predictor)


def asynchronous(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.async_inference import AsyncInferenceConfig, WaiterConfig
    from sagemaker.deserializers import CSVDeserializer
    from sagemaker.exceptions import AsyncInferenceModelError, ObjectNotExistedError
    from sagemaker.model import Model
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import CSVSerializer

    bucket, waiter = session.default_bucket(), WaiterConfig(max_attempts=30, delay=1)
    boosted = S3Uploader.upload(around.path("booster.tar.gz"), f"s3://{bucket}/single", None)
    model = Model("torpor", boosted, None, name="later", predictor_cls=Predictor, sagemaker_session=session)
    options = {"initial_instance_count": 1, "instance_type": "ml.m5.large", "endpoint_name": "later"}
    with step("Model.deploy with AsyncInferenceConfig gives an AsyncPredictor"):
        predictor = model.deploy(**options, async_inference_config=AsyncInferenceConfig())
        predictor.serializer, predictor.deserializer = CSVSerializer(), CSVDeserializer()
        predictor.predictor.serializer, predictor.predictor.deserializer = CSVSerializer(), CSVDeserializer()
    with step("AsyncPredictor.predict: uploads the rows, and waits for the result"):
        answers = predictor.predict(data=around.rows, waiter_config=waiter)
        close([value for row in answers for value in row], around.expected["booster"], tolerance=0.01)
    with step("AsyncPredictor.predict_async: an input in S3, and get_result"):
        rows = "".join(",".join(map(str, row)) + "\n" for row in around.rows)
        source = S3Uploader.upload_string_as_file_body(rows, f"s3://{bucket}/later/rows.csv", sagemaker_session=session)
        response = predictor.predict_async(input_path=source)
        answers = response.get_result(waiter)
        close([value for row in answers for value in row], around.expected["booster"], tolerance=0.01)
    with step("AsyncPredictor: what the model refuses is an AsyncInferenceModelError"):
        response = predictor.predict_async(data="no,numbers\n")
        try:
            response.get_result(waiter)
        except AsyncInferenceModelError as error:
            refused = str(error)
        assert "no" in refused, refused
    with step("AsyncInferenceResponse.get_result before the result is there"):
        response.output_path, response.failure_path = f"s3://{bucket}/later/none.out", f"s3://{bucket}/later/none"
        try:
            response.get_result()
        except ObjectNotExistedError:
            pass
        else:
            raise AssertionError("there is a result")
    with step("AsyncPredictor.delete_endpoint"):
        predictor.delete_endpoint()


def transforms(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker.exceptions import UnexpectedStatusException
    from sagemaker.model import Model
    from sagemaker.pipeline import PipelineModel
    from sagemaker.s3 import S3Downloader, S3Uploader
    from sagemaker.sklearn import SKLearnModel

    bucket = session.default_bucket()
    boosted = S3Uploader.upload(around.path("booster.tar.gz"), f"s3://{bucket}/single", None)
    rows = [",".join(map(str, row)) for row in around.rows]

    def scored(transformer: Any, lines: list[str], **options: Any) -> list[str]:
        body = "".join(f"{line}\n" for line in lines)
        source = S3Uploader.upload_string_as_file_body(body, f"{transformer.output_path}-in/rows.csv")
        transformer.transform(source, content_type="text/csv", split_type="Line", wait=True, logs=False, **options)
        result = S3Downloader.read_file(f"{transformer.output_path}/rows.csv.out", sagemaker_session=session)
        return list(result.splitlines())

    def options(name: str) -> dict[str, Any]:
        to = {"output_path": f"s3://{bucket}/{name}", "accept": "text/csv", "assemble_with": "Line"}
        return {"instance_count": 1, "instance_type": "ml.m5.large", "strategy": "MultiRecord", **to}

    with step("Transformer: an XGBoost model, with a filter and a join"):
        model = Model("torpor", boosted, None, sagemaker_session=session)
        answers = scored(
            model.transformer(**options("scored")),
            [f"id-{number},{row}" for number, row in enumerate(rows)],
            input_filter="$[1:]",
            join_source="Input",
            output_filter="$[0,-1]",
        )
        names, values = zip(*(answer.split(",") for answer in answers), strict=True)
        assert names == tuple(f"id-{number}" for number in range(len(rows))), names
        close(values, around.expected["booster"], tolerance=0.01)
    with step("PipelineModel.transformer: a script before an XGBoost model"):
        script = Path(around.path("prepare_rows")) / "inference.py"
        script.parent.mkdir()
        script.write_text(PREPARE)
        linear = S3Uploader.upload(around.path("linear.tar.gz"), f"s3://{bucket}/single", None)
        first = SKLearnModel(linear, None, str(script), "1.2-1", sagemaker_session=session)
        second = Model("torpor", boosted, None, sagemaker_session=session)
        pipeline = PipelineModel([first, second], None, name="scoring", sagemaker_session=session)
        answers = scored(pipeline.transformer(**options("piped")), [f"row {row}" for row in rows])
        close(answers, around.expected["booster"], tolerance=0.01)
    with step("a Transformer waits for the end of a job, and says why it failed"):
        transformer = model.transformer(**options("broken"))
        failed = ""
        try:
            scored(transformer, ["no number"])
        except UnexpectedStatusException as error:
            failed = str(error)
        assert "rows.csv" in failed, failed


def components(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    """Two models on one endpoint. The SDK makes the endpoint with the first, and waits for components every 20 s."""
    from sagemaker import get_execution_role, image_uris
    from sagemaker.compute_resource_requirements.resource_requirements import ResourceRequirements
    from sagemaker.deserializers import CSVDeserializer
    from sagemaker.enums import EndpointType
    from sagemaker.exceptions import UnexpectedStatusException
    from sagemaker.iterators import ByteIterator
    from sagemaker.model import Model
    from sagemaker.predictor import Predictor
    from sagemaker.s3 import S3Uploader
    from sagemaker.serializers import CSVSerializer

    needs = ResourceRequirements(requests={"num_cpus": 0.5, "memory": 1024, "copies": 1}, limits={"memory": 2048})
    artifact = S3Uploader.upload(around.path("booster.tar.gz"), f"s3://{session.default_bucket()}/apart", None)
    image = image_uris.retrieve("xgboost", session.boto_region_name, "1.7-1")
    predictors = []
    for name in ("first", "second"):
        with step(f"Model.deploy of the {name} inference component"):
            model = Model(image, artifact, get_execution_role(session), Predictor, name=name, sagemaker_session=session)
            predictor = model.deploy(
                1,
                "ml.m5.xlarge",
                endpoint_name="apart",
                endpoint_type=EndpointType.INFERENCE_COMPONENT_BASED,
                inference_component_name=name,
                resources=needs,
                managed_instance_scaling={"MinInstanceCount": 1, "MaxInstanceCount": 2},
                serializer=CSVSerializer(),
                deserializer=CSVDeserializer(),
            )
            predictors.append(predictor)
            close([value for line in predictor.predict(around.rows) for value in line], around.expected["booster"])
    with step("more copies, waited for and described"):
        session.sagemaker_client.update_inference_component_runtime_config(
            InferenceComponentName="first", DesiredRuntimeConfig={"CopyCount": 2}
        )
        session.wait_for_inference_component("first", poll=POLL_S)
        shown = session.describe_inference_component("first")
        assert shown["RuntimeConfig"] == {"DesiredCopyCount": 2, "CurrentCopyCount": 2}, shown
    with step("update_predictor: another model and more memory under the same name"):
        linear = S3Uploader.upload(around.path("linear.tar.gz"), f"s3://{session.default_bucket()}/apart", None)
        larger = ResourceRequirements(requests={"num_cpus": 0.5, "memory": 1536, "copies": 1})
        predictors[1].update_predictor(image_uri="torpor", model_data=linear, resources=larger)
        again = Predictor("apart", session, CSVSerializer(), CSVDeserializer(), component_name="second")
        close([float(value) for line in again.predict(around.rows) for value in line], around.expected["linear"])
        kept = session.describe_inference_component("second")["Specification"]["ComputeResourceRequirements"]
        assert kept["MinMemoryRequiredInMb"] == 1536, kept
    with step("create_inference_component and update_inference_component of the session, and predict_stream"):
        session.create_inference_component(
            inference_component_name="third",
            endpoint_name="apart",
            variant_name="AllTraffic",
            specification={
                "Container": {"Image": "torpor", "ArtifactUrl": artifact},
                "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 1024},
            },
            runtime_config={"CopyCount": 1},
        )
        third = Predictor("apart", session, CSVSerializer(), component_name="third")
        assert b"".join(third.predict_stream(around.rows, iterator=ByteIterator))
        changed = {"Container": {"Image": "torpor", "ArtifactUrl": linear}}
        changed["ComputeResourceRequirements"] = {"MinMemoryRequiredInMb": 1024}
        session.update_inference_component("third", changed, {"CopyCount": 2})
        assert session.describe_inference_component("third")["RuntimeConfig"]["CurrentCopyCount"] == 2
        names = session.list_and_paginate_inference_component_names_associated_with_endpoint("apart")
        assert sorted(names) == ["first", "second", "third"], names
    with step("one that fits nowhere is an UnexpectedStatusException with AWS's reason"):
        huge = {"Container": {"Image": "torpor", "ArtifactUrl": artifact}}
        huge["ComputeResourceRequirements"] = {"MinMemoryRequiredInMb": 64_000}
        refused = ""
        try:
            session.create_inference_component("huge", "apart", "AllTraffic", huge, {"CopyCount": 1})
        except UnexpectedStatusException as error:
            refused = str(error)
        assert "not enough hardware resources" in refused, refused
        session.delete_inference_component("huge", wait=True)
    with step("delete_predictor of each, then delete_endpoint"):
        third.delete_predictor(wait=True)
        for predictor in predictors:
            predictor.delete_predictor(wait=True)
        assert session.list_inference_components(endpoint_name_equals="apart")["InferenceComponents"] == []
        predictors[0].delete_endpoint()
        gone(session, "apart")


def deployed(session: Any, model: Any, name: str) -> Any:
    """A predictor of the model in service."""
    predictor = model.deploy(1, "ml.m5.large", endpoint_name=name, wait=False)
    session.wait_for_endpoint(name, poll=POLL_S)
    return predictor


def delete(predictor: Any) -> None:
    predictor.delete_model()
    predictor.delete_endpoint()


def gone(session: Any, name: str) -> None:
    waiter = session.sagemaker_client.get_waiter("endpoint_deleted")
    waiter.wait(EndpointName=name, WaiterConfig={"Delay": POLL_S})


if __name__ == "__main__":
    sys.exit(main())

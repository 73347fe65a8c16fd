"""Execution roles over the wire: an instance and a job may do what their role may, and no more."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import ACCOUNT, REGION, LiveEndpoint, many, one
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import booster, packed, put
from tests.helpers.waiting import soon, until
from torpor_container.isolation.abilities import found
from torpor_endpoint.routing.protocol.router_variables import CONTROL_KEY, CONTROL_SECRET

ROW = b"1,2,3,4"
ON_DEMAND = """
import boto3, os, socket
def model_fn(model_dir):
    return boto3.Session()
def transform_fn(session, body, content_type, accept):
    space = {"s3": session.client("s3"), "session": session, "os": os, "socket": socket}
    try:
        exec(body, space)
    except Exception as error:
        return f"{type(error).__name__}: {error}", "text/plain"
    return str(space["out"]), "text/plain"
"""
TRAIN = """
import boto3, os
for bucket in ("models", "secret"):
    try:
        print("listed", boto3.client("s3").list_objects_v2(Bucket=bucket)["KeyCount"])
    except Exception as error:
        print(error)
open(os.path.join(os.environ["SM_MODEL_DIR"], "model"), "w").close()
"""
NO_DATA = r'Could not access model data at s3://.*role "{role}" exists.*"s3:GetObject" permissions.*in us-east-1'
READS_MODELS = {
    "Action": ["s3:GetObject", "s3:ListBucket"],
    "Resource": ["arn:aws:s3:::models", "arn:aws:s3:::models/*"],
}
WRITES_RESULTS = {"Action": "s3:PutObject", "Resource": "arn:aws:s3:::results/ours/*"}
WAIT_S = 30.0


class Account:
    """The account of a live endpoint, its buckets and its roles."""

    def __init__(self, live: LiveEndpoint) -> None:
        self.live = live
        self.iam, self.sagemaker = live.client("iam"), live.sagemaker
        model, code = packed({"model.json": booster()}), packed({"train.py": TRAIN})
        objects = {"many/a b/one+ü.tar.gz": model, "many/b/two.tar.gz": model, "code.tar.gz": code, "row.csv": ROW}
        put(live.folder("models"), {**objects, "script.tar.gz": packed({"inference.py": ON_DEMAND}), "note": b"hello"})
        put(live.folder("secret"), {"note": b"secret"})
        live.folder("results")
        self.reader = self.role("reader", READS_MODELS, WRITES_RESULTS)

    def role(self, name: str, *statements: dict[str, Any]) -> str:
        arn = self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=trusting("sagemaker.amazonaws.com"))
        permissions = document(*({"Effect": "Allow", **one} for one in statements))
        self.iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=permissions)
        return str(arn["Role"]["Arn"])

    def endpoint(self, name: str, role: str, container: dict[str, Any], **config: Any) -> Any:
        """DescribeEndpoint's answer once it has settled."""
        self.sagemaker.create_model(ModelName=name, ExecutionRoleArn=role, PrimaryContainer=container)
        variant = {"VariantName": "v", "ModelName": name, "InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}
        self.sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[variant], **config)
        self.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
        return self.live.settled(name)

    def told(self, name: str, source: str) -> str:
        """What a script with ON_DEMAND answers to this Python."""
        return str(self.live.invoke(name, source.encode(), "text/plain")["Body"].decode())

    def credentials(self, token: str) -> int:
        """The status of the page of credentials."""
        try:
            with urlopen(Request(f"{self.live.url}/_torpor/credentials", headers={"Authorization": token})) as answer:
                return int(answer.status)
        except HTTPError as refused:
            return refused.code


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trusting(service: str) -> str:
    return document({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"})


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with LiveEndpoint(tmp_path_factory.mktemp("roles"), "--auth") as live:
        yield Account(live)


@pytest.fixture(scope="module")
def scripted(account: Account) -> str:
    assert account.endpoint("scripted", account.reader, one("models/script.tar.gz"))["EndpointStatus"] == "InService"
    return "scripted"


def test_a_script_may_what_its_role_may(account: Account, scripted: str) -> None:
    read = "out = s3.get_object(Bucket='{}', Key='note')['Body'].read()"
    assert account.told(scripted, read.format("models")) == "b'hello'"
    denied = account.told(scripted, read.format("secret"))
    assert "assumed-role/reader/SageMaker is not authorized to perform: s3:GetObject" in denied


@pytest.mark.skipif(not found().ports, reason="this machine cannot hold a script's connections to a port")
def test_a_script_connects_to_its_endpoint_only(account: Account, scripted: str) -> None:
    walls = [
        "out = socket.create_connection(('127.0.0.1', 9), 1)",
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "out = socket.socket().bind(('127.0.0.1', 0))",
        "out = socket.socket().listen()",
        "out = socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', 9))",
    ]
    assert {account.told(scripted, wall) for wall in walls} == {"PermissionError: [Errno 13] Permission denied"}


def test_credentials_end_with_their_instance(account: Account) -> None:
    account.endpoint("short", account.reader, one("models/script.tar.gz"))
    token = account.told("short", "out = os.environ['AWS_CONTAINER_AUTHORIZATION_TOKEN']")
    keys = account.told("short", "out = ' '.join(session.get_credentials().get_frozen_credentials()[:3])").split()
    s3 = boto3.Session(*keys, region_name=REGION).client("s3", endpoint_url=account.live.url)
    assert s3.get_object(Bucket="models", Key="note")["Body"].read() == b"hello"
    assert (account.credentials(token), account.credentials("another")) == (200, 403)
    account.sagemaker.delete_endpoint(EndpointName="short")
    until(lambda: account.credentials(token) == 403, WAIT_S)
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        s3.get_object(Bucket="models", Key="note")


@pytest.mark.parametrize("container", [one("secret/model.tar.gz"), many("secret/many/")], ids=["one", "many"])
def test_create_model_refuses_data_that_the_role_may_not_read(account: Account, container: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match=NO_DATA.format(role=account.reader)):
        account.sagemaker.create_model(ModelName="m", ExecutionRoleArn=account.reader, PrimaryContainer=container)


def test_an_endpoint_fails_whose_role_trusts_sagemaker_no_more(account: Account) -> None:
    role = account.role("leaving", READS_MODELS)
    members = {"ModelName": "left", "PrimaryContainer": one("models/script.tar.gz")}
    account.sagemaker.create_model(ExecutionRoleArn=role, **members)
    account.iam.update_assume_role_policy(RoleName="leaving", PolicyDocument=trusting("lambda.amazonaws.com"))
    variant = {"VariantName": "v", "ModelName": "left", "InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}
    account.sagemaker.create_endpoint_config(EndpointConfigName="left", ProductionVariants=[variant])
    account.sagemaker.create_endpoint(EndpointName="left", EndpointConfigName="left")
    described = account.live.settled("left")
    assert described["EndpointStatus"] == "Failed"
    assert described["FailureReason"].startswith(f'The execution role ARN "{role}" is invalid. Please ensure that')


def test_models_are_read_in_place_only_if_the_role_may_read_them(account: Account) -> None:
    lists = {"Action": "s3:ListBucket", "Resource": "arn:aws:s3:::models"}
    role = account.role("tenant-a", lists, {"Action": "s3:GetObject", "Resource": "arn:aws:s3:::models/many/a b/*"})
    assert account.endpoint("many", role, many("models/many/"))["EndpointStatus"] == "InService"
    assert account.live.invoke("many", ROW, TargetModel="a b/one+ü.tar.gz")["Body"]
    with pytest.raises(ClientError, match=r"Failed to download model data .*two\.tar\.gz"):
        account.live.invoke("many", ROW, TargetModel="b/two.tar.gz")


def training(account: Account, name: str, output: str) -> Any:
    account.sagemaker.create_training_job(
        TrainingJobName=name,
        AlgorithmSpecification={"TrainingImage": "torpor", "TrainingInputMode": "File"},
        RoleArn=account.reader,
        HyperParameters={"sagemaker_program": "train.py", "sagemaker_submit_directory": "s3://models/code.tar.gz"},
        OutputDataConfig={"S3OutputPath": output},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 60},
    )

    def ended() -> Any:
        job = account.sagemaker.describe_training_job(TrainingJobName=name)
        return job if job["TrainingJobStatus"] in ("Completed", "Failed") else None

    return until(ended, WAIT_S)


@pytest.mark.thorough
def test_a_training_job_is_its_role(account: Account) -> None:
    denied = training(account, "denied", "s3://secret/out")
    assert denied["FailureReason"].startswith(
        "ClientError: Artifact upload failed: s3://secret/out/denied/output/model"
    )
    assert "s3:PutObject" in denied["FailureReason"]
    job = training(account, "allowed", "s3://results/ours")
    assert (job["TrainingJobStatus"], job.get("FailureReason")) == ("Completed", None)
    (log,) = (account.live.data_dir / "logs").rglob("allowed/*.log")
    assert "listed " in log.read_text()
    assert "assumed-role/reader/SageMaker is not authorized to perform: s3:ListBucket" in log.read_text()


def test_a_step_of_a_pipeline_is_its_role(account: Account) -> None:
    resource = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:*"
    may = {"Action": ["sagemaker:CreateModelPackage*", "sagemaker:DescribeModelPackage*"], "Resource": resource}
    role, other = account.role("pipes", may), account.role("pipes-nothing", READS_MODELS)
    register = {"ModelPackageGroupName": "piped", "ModelPackageDescription": "by a step"}
    steps = [{"Name": "Register", "Type": "RegisterModel", "Arguments": register}]
    text = json.dumps({"Version": "2020-12-01", "Steps": steps})
    account.sagemaker.create_pipeline(
        PipelineName="p", PipelineDefinition=text, RoleArn=role, ClientRequestToken="t" * 32
    )

    def ended(given: dict[str, str]) -> Any:
        started = account.sagemaker.start_pipeline_execution(PipelineName="p", **given)
        arn = started["PipelineExecutionArn"]

        def over() -> Any:
            found = account.sagemaker.describe_pipeline_execution(PipelineExecutionArn=arn)
            return found if found["PipelineExecutionStatus"] in ("Succeeded", "Failed") else None

        return until(over, WAIT_S)

    assert ended({})["PipelineExecutionStatus"] == "Succeeded"
    denied = ended({"RoleArn": other})
    assert denied["PipelineExecutionStatus"] == "Failed"
    assert "assumed-role/pipes-nothing/SageMaker is not authorized" in denied["FailureReason"]
    starts = account.live.client("iam").create_user(UserName="starts")["User"]["UserName"]
    permitted = {"Effect": "Allow", "Action": "sagemaker:StartPipelineExecution", "Resource": resource}
    account.iam.put_user_policy(UserName=starts, PolicyName="own", PolicyDocument=document(permitted))
    key = account.iam.create_access_key(UserName=starts)["AccessKey"]
    client = boto3.client(
        "sagemaker",
        endpoint_url=account.live.url,
        region_name=REGION,
        aws_access_key_id=key["AccessKeyId"],
        aws_secret_access_key=key["SecretAccessKey"],
    )
    with pytest.raises(ClientError, match="iam:PassRole"):
        client.start_pipeline_execution(PipelineName="p", RoleArn=other)
    client.start_pipeline_execution(PipelineName="p")


def test_a_transform_job_is_denied_its_output(account: Account) -> None:
    account.sagemaker.create_model(
        ModelName="batch", ExecutionRoleArn=account.reader, PrimaryContainer=one("models/many/b/two.tar.gz")
    )
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://models/row.csv"}}
    account.sagemaker.create_transform_job(
        TransformJobName="batch",
        ModelName="batch",
        TransformInput={"DataSource": source, "ContentType": "text/csv"},
        TransformOutput={"S3OutputPath": "s3://secret/out"},
        TransformResources={"InstanceType": "ml.m5.large", "InstanceCount": 1},
    )

    def failed() -> Any:
        return account.sagemaker.describe_transform_job(TransformJobName="batch").get("FailureReason")

    assert "s3://secret/out/row.csv.out (AccessDenied: " in until(failed, WAIT_S)


@pytest.mark.thorough
def test_results_and_captured_data_are_written_by_the_role(account: Account) -> None:
    paths = {"S3OutputPath": "s3://secret/out", "S3FailurePath": "s3://results/ours"}
    script = one("models/script.tar.gz")
    account.endpoint("async", account.reader, script, AsyncInferenceConfig={"OutputConfig": paths})
    account.live.runtime.invoke_endpoint_async(EndpointName="async", InputLocation="s3://models/note")
    results = account.live.folder("results") / "ours"
    (failure,) = until(lambda: [one for one in results.glob("*-error.out") if one.stat().st_size], WAIT_S)
    assert "assumed-role/reader/SageMaker is not authorized to perform: s3:PutObject" in failure.read_text()
    sides = [{"CaptureMode": "Input"}]
    config = {"DestinationS3Uri": "s3://secret/seen", "InitialSamplingPercentage": 100, "CaptureOptions": sides}
    account.endpoint("seen", account.reader, script, DataCaptureConfig=config)
    account.told("seen", "out = 1")
    account.sagemaker.delete_endpoint(EndpointName="seen")
    until(lambda: "captured data of endpoint seen cannot be written" in account.live.output(), WAIT_S)
    assert not (account.live.folder("secret") / "seen").exists()


def test_a_model_without_a_role_passes_the_endpoint_s_own(account: Account) -> None:
    account.iam.create_user(UserName="maker")
    make = {"Effect": "Allow", "Action": "sagemaker:CreateModel", "Resource": "*"}
    account.iam.put_user_policy(UserName="maker", PolicyName="own", PolicyDocument=document(make))
    key = account.iam.create_access_key(UserName="maker")["AccessKey"]
    session = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name=REGION)
    sagemaker = session.client("sagemaker", endpoint_url=account.live.url)
    with pytest.raises(ClientError, match=f"iam:PassRole on resource: arn:aws:iam::{ACCOUNT}:role/TorporRole"):
        sagemaker.create_model(ModelName="m", PrimaryContainer=one("secret/model.tar.gz"))


@pytest.mark.thorough
def test_a_router_writes_captured_data_as_the_models_role(account: Account, tmp_path: Path) -> None:
    writer = account.role(
        "writer", READS_MODELS, {"Action": "s3:PutObject", "Resource": "arn:aws:s3:::results/allowed/*"}
    )
    for name in ("allowed", "denied"):
        capture = {
            "EnableCapture": True,
            "InitialSamplingPercentage": 100,
            "DestinationS3Uri": f"s3://results/{name}",
            "CaptureOptions": [{"CaptureMode": "Input"}],
        }
        account.endpoint(name, writer, one("models/script.tar.gz"), DataCaptureConfig=capture)
    keys = dict(zip((CONTROL_KEY, CONTROL_SECRET), account.live.keys, strict=True))
    router = LiveRouter(account.live.url, tmp_path / "router.log", {**keys, "AWS_ACCESS_KEY_ID": "of-another-s3"})
    try:
        access_key, secret = account.live.keys
        runtime = boto3.client(
            "sagemaker-runtime",
            REGION,
            endpoint_url=router.url,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret,
        )
        for name in ("denied", "allowed"):
            runtime.invoke_endpoint(EndpointName=name, Body=b"out = 1", ContentType="text/plain")
        results = account.live.folder("results")
        (file,) = until(lambda: list((results / "allowed").rglob("*.jsonl")), within_s=WAIT_S)
        assert json.loads(file.read_text())["captureData"]["endpointInput"]["data"]
        said = "assumed-role/writer/SageMaker is not authorized to perform: s3:PutObject"
        assert soon(lambda: said in (tmp_path / "router.log").read_text(), within_s=WAIT_S)
        assert not (results / "denied").exists()
    finally:
        router.stop()

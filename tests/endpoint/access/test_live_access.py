"""An endpoint that verifies its callers, over the wire: every face refuses who may not, and serves who may."""

import hashlib
import hmac
import json
import stat
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.endpoint.helpers.dashboard_browser import dashboard_visit
from tests.endpoint.helpers.live_endpoint import ACCOUNT, REGION, LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import booster, packed, put
from tests.helpers.browser import needs_browser

HOUSES = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:endpoint/houses"
ROW = b"1.0,2.0,3.0,4.0"
Keys = tuple[str, str] | tuple[str, str, str]


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(action: Any, resource: Any = "*", effect: str = "Allow", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


class Account:
    """The account of a live endpoint, and the clients of its callers."""

    def __init__(self, live: LiveEndpoint) -> None:
        self.live = live
        self.iam = live.client("iam")

    def client(self, service: str, keys: Keys | None = None, **config: Any) -> Any:
        """A client with these keys, or with the root's. It tries once."""
        options = {"retries": {"total_max_attempts": 1}, "s3": {"addressing_style": "path"}, **config}
        session = boto3.Session(*(keys or self.live.keys), region_name=REGION)
        return session.client(service, endpoint_url=self.live.url, config=Config(**options))

    def user(self, name: str, *statements: dict[str, Any]) -> tuple[str, str]:
        """The keys of a new user with these statements."""
        self.iam.create_user(UserName=name)
        if statements:
            self.iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=document(*statements))
        key = self.iam.create_access_key(UserName=name)["AccessKey"]
        return key["AccessKeyId"], key["SecretAccessKey"]

    def role(self, name: str, trusted: Any, *statements: dict[str, Any]) -> str:
        trust = {"Effect": "Allow", "Principal": trusted, "Action": ["sts:AssumeRole", "sts:TagSession"]}
        arn = self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=document(trust))["Role"]["Arn"]
        self.iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document(*statements))
        return str(arn)

    def invoke(self, keys: Keys, target: str = "a/one.tar.gz", endpoint: str = "houses") -> bytes:
        runtime = self.client("sagemaker-runtime", keys)
        answer = runtime.invoke_endpoint(EndpointName=endpoint, TargetModel=target, ContentType="text/csv", Body=ROW)
        return bytes(answer["Body"].read())


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with LiveEndpoint(tmp_path_factory.mktemp("access"), "--auth") as live:
        found = Account(live)
        models = packed({"model.json": booster()})
        put(live.folder("models"), {"all/a/one.tar.gz": models, "all/b/two.tar.gz": models})
        live.deploy("houses", Variant(many("models/all/")))
        yield found


def code(call: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as refused:
        call()
    answer = refused.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def raw(account: Account, method: str, path: str, body: Any = b"", **headers: str) -> tuple[int, bytes]:
    """The status and the body of `answered`."""
    status, _, content = answered(account, method, path, body, **headers)
    return status, content


def answered(
    account: Account, method: str, path: str, body: Any = b"", **headers: str
) -> tuple[int, HTTPMessage, bytes]:
    """A request as it is, unsigned unless the headers say otherwise."""
    connection = HTTPConnection(urlsplit(account.live.url).netloc, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


FORM = {"content_type": "application/x-www-form-urlencoded"}
UNSIGNED = {
    "SageMaker": ("POST", "/", {"x_amz_target": "SageMaker.ListModels", "content_type": "application/x-amz-json-1.1"}),
    "runtime": ("POST", "/endpoints/houses/invocations", {"content_type": "text/csv"}),
    "async": ("POST", "/endpoints/houses/async-invocations", {}),
    "stream": ("POST", "/endpoints/houses/invocations-response-stream", {}),
    "Open Inference": ("POST", "/v2/models/a/one/infer", {}),
    "TensorFlow Serving": ("POST", "/v1/models/a%2Fone:predict", {}),
    "TensorFlow Serving, the status": ("GET", "/v1/models/a%2Fone", {}),
    "OpenAI": ("POST", "/openai/v1/embeddings", {}),
    "OpenAI, the list": ("GET", "/v1/models", {}),
    "Open Inference, the index": ("POST", "/v2/repository/index", {}),
    "S3": ("GET", "/models/all/a/one.tar.gz", {}),
    "S3, a put": ("PUT", "/models/pwned", {}),
    "S3, the list": ("GET", "/", {}),
    "IAM": ("POST", "/?Action=ListUsers&Version=2010-05-08", FORM),
    "SNS": ("POST", "/?Action=CreateTopic&Version=2010-03-31&Name=x", FORM),
    "a form": ("POST", "/?Action=CreateTopic&Name=x", FORM),
    "CloudWatch": (
        "POST",
        "/service/GraniteServiceVersion20100801/operation/ListMetrics",
        {"smithy_protocol": "rpc-v2-cbor"},
    ),
    "old S3": ("GET", "/models/all/a/one.tar.gz", {"authorization": "AWS AKIA:sig"}),
    "the pages": ("GET", "/_torpor/endpoints", {}),
    "the dashboard": ("GET", "/_torpor/dashboard/feed", {}),
    "a bad password": ("GET", "/_torpor/", {"authorization": "Basic dG9ycG9yOnRvcnBvcg=="}),
}


@pytest.mark.parametrize("face", UNSIGNED)
def test_who_signs_nothing_gets_nowhere(account: Account, face: str) -> None:
    method, path, headers = UNSIGNED[face]
    status, body = raw(account, method, path, **headers)
    assert (status, b"one.tar.gz" in body and b"Key" in body) in [(400, False), (401, False), (403, False)]


def test_the_page_of_health_needs_no_signature(account: Account) -> None:
    status, body = raw(account, "GET", "/_torpor/health")
    assert (status, json.loads(body)["auth"]) == (200, "on")


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/models", "/models/all/a/one.tar.gz", "/models?list-type=2", "/endpoints/houses/invocations"),
        "/?Action=ListUsers",
        *(
            "/_torpor/",
            "/_torpor/endpoints",
            "/_torpor/health",
            "/_torpor/login",
            "/_torpor/none",
            "/?Action=ListUsers",
        ),
    ],
)
@pytest.mark.parametrize("authorization", ["", "Basic dG9ycG9yOnRvcnBvcg==", "AWS4-HMAC-SHA256 Credential=x"])
def test_a_head_has_the_status_of_a_get_no_body_and_no_line_in_the_log(
    account: Account, path: str, authorization: str
) -> None:
    headers = {"authorization": authorization} if authorization else {}
    before = account.live.output()
    status, _, body = answered(account, "HEAD", path, **headers)
    assert (body, account.live.output().removeprefix(before)) == (b"", "")
    if "_torpor" in path:
        assert status == answered(account, "GET", path, **headers)[0]


def test_the_root_credential_is_made_once_and_for_its_owner_only(account: Account) -> None:
    path = account.live.data_dir / "credentials"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert account.live.keys[1] not in account.live.output()
    identity = account.client("sts").get_caller_identity()
    assert identity["Arn"] == f"arn:aws:iam::{ACCOUNT}:root"


def test_wrong_credentials_are_refused_in_the_protocol_of_each_service(account: Account) -> None:
    unknown, wrong = ("AKIA0000000000000000", "secret"), (account.live.keys[0], "secret")
    token = (*account.live.keys, "token")
    expected = {
        "sagemaker": ("UnrecognizedClientException", "InvalidSignatureException", "UnrecognizedClientException", 400),
        "iam": ("InvalidClientTokenId", "SignatureDoesNotMatch", "InvalidClientTokenId", 403),
    }
    for service, (no_key, mismatch, bad_token, status) in expected.items():
        call = {"sagemaker": "list_models", "iam": "list_users"}[service]
        for keys, named in ((unknown, no_key), (wrong, mismatch), (token, bad_token)):
            assert code(getattr(account.client(service, keys), call)) == (named, status)
    assert code(account.client("s3", unknown).list_buckets) == ("InvalidAccessKeyId", 403)
    assert code(account.client("s3", wrong).list_buckets) == ("SignatureDoesNotMatch", 403)
    assert code(account.client("s3", token).list_buckets) == ("InvalidToken", 400)
    assert code(lambda: account.invoke(unknown)) == ("UnrecognizedClientException", 403)
    assert code(lambda: account.invoke(wrong)) == ("InvalidSignatureException", 403)


def test_root_may_do_everything(account: Account) -> None:
    assert account.invoke(account.live.keys)
    s3 = account.client("s3")
    s3.create_bucket(Bucket="roots")
    s3.put_object(Bucket="roots", Key="a b/ü+", Body=b"x" * 100_000)
    assert s3.get_object(Bucket="roots", Key="a b/ü+")["Body"].read() == b"x" * 100_000
    upload = s3.create_multipart_upload(Bucket="roots", Key="parts")["UploadId"]
    part = s3.upload_part(Bucket="roots", Key="parts", UploadId=upload, PartNumber=1, Body=b"x")
    parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    s3.complete_multipart_upload(Bucket="roots", Key="parts", UploadId=upload, MultipartUpload=parts)
    s3.delete_objects(Bucket="roots", Delete={"Objects": [{"Key": "parts"}]})
    account.client("cloudwatch").list_metrics()
    account.client("sns").create_topic(Name="t")


def test_a_tenant_calls_its_own_models_only(account: Account) -> None:
    mine = {"StringLike": {"sagemaker:TargetModel": "a/*"}}
    keys = account.user("tenant", allow("sagemaker:InvokeEndpoint", HOUSES, Condition=mine))
    assert account.invoke(keys)
    with pytest.raises(ClientError) as refused:
        account.invoke(keys, "b/two.tar.gz")
    error = refused.value.response["Error"]
    assert error["Code"] == "AccessDeniedException"
    assert error["Message"] == (
        f"User: arn:aws:iam::{ACCOUNT}:user/tenant is not authorized to perform: sagemaker:InvokeEndpoint on resource: "
        f"{HOUSES} because no identity-based policy allows the sagemaker:InvokeEndpoint action"
    )
    runtime = account.client("sagemaker-runtime", keys)
    assert code(lambda: runtime.invoke_endpoint(EndpointName="houses", Body=ROW)) == ("AccessDeniedException", 403)
    assert code(lambda: account.invoke(keys, endpoint="other")) == ("AccessDeniedException", 403)
    assert account.invoke(keys, "/a/one.tar.gz")  # the same model
    assert code(lambda: account.invoke(keys, "a/../b/two.tar.gz")) == ("ValidationError", 400)
    assert code(account.client("sagemaker", keys).list_models) == ("AccessDeniedException", 400)
    assert code(account.client("s3", keys).list_buckets) == ("AccessDenied", 403)
    assert code(account.client("iam", keys).list_users) == ("AccessDenied", 403)
    assert account.client("sts", keys).get_caller_identity()["Arn"].endswith(":user/tenant")


def test_a_tenants_call_of_a_group_goes_to_its_own_models_and_tells_of_no_others(account: Account) -> None:
    s3, models = account.client("s3"), {"a/one.tar.gz": {"accuracy": 0.8}, "b/two.tar.gz": {"accuracy": 0.9}}
    for name, group in {"both": models, "others": {"b/two.tar.gz": {}}, "gone": {"b/none.tar.gz": {}}}.items():
        s3.put_object(Bucket="models", Key=f"all/{name}.group.json", Body=json.dumps({"models": group}))
    account.live.deploy("grouped", Variant(many("models/all/", {"TORPOR_GROUPS": "true"})))
    grouped = HOUSES.replace("houses", "grouped")
    named = {"StringLike": {"sagemaker:TargetModel": ["a/*", "both", "others", "gone"]}}
    keys = account.user("grouper", allow("sagemaker:InvokeEndpoint", grouped, Condition=named))

    def call(target: str, need: str = "min_accuracy=0.1", by: Keys = keys) -> Any:
        asked = {"EndpointName": "grouped", "TargetModel": target, "CustomAttributes": need, "ContentType": "text/csv"}
        return account.client("sagemaker-runtime", by).invoke_endpoint(Body=ROW, **asked)["ResponseMetadata"]

    by_root = call("both", "min_accuracy=0.85", account.live.keys)["HTTPHeaders"]
    assert by_root["x-torpor-target-model"] == "b/two.tar.gz"
    own = call("both")["HTTPHeaders"]
    assert (own["x-torpor-target-model"], "b/two" in own["x-torpor-choice"]) == ("a/one.tar.gz", False)
    for target, need, expected in (
        ("both", "min_accuracy=0.85", "ValidationError"),
        ("others", "", "AccessDeniedException"),
        ("gone", "", "ValidationError"),
    ):
        with pytest.raises(ClientError) as refused:
            call(target, need)
        error = refused.value.response["Error"]
        assert (error["Code"], "b/" in error["Message"]) == (expected, False)
    other = account.user(
        "grouper2",
        allow("sagemaker:InvokeEndpoint", grouped, Condition={"StringLike": {"sagemaker:TargetModel": "a/*"}}),
    )
    assert code(lambda: call("both", by=other)) == code(lambda: call("no-such-group", by=other))
    account.live.sagemaker.delete_endpoint(EndpointName="grouped")


def test_each_way_to_invoke_needs_its_right(account: Account) -> None:
    runtime = account.client("sagemaker-runtime", account.user("ways", allow("sagemaker:InvokeEndpoint", HOUSES)))
    target = {"EndpointName": "houses", "TargetModel": "a/one.tar.gz", "ContentType": "text/csv", "Body": ROW}
    stored = {"EndpointName": "houses", "InputLocation": "s3://models/in.csv"}
    streamed = {"EndpointName": "houses", "ContentType": "text/csv", "Body": ROW}
    assert runtime.invoke_endpoint(**target)
    assert code(lambda: runtime.invoke_endpoint_async(**stored)) == ("AccessDeniedException", 403)
    root = account.client("sagemaker-runtime")
    for call in (
        lambda: root.invoke_endpoint_async(**stored),
        lambda: root.invoke_endpoint_with_response_stream(**streamed),
    ):
        assert code(call) == ("ValidationError", 400)  # the endpoint is not asynchronous, and needs a target


@pytest.mark.parametrize(("network", "status"), [("127.0.0.0/8", 200), ("10.0.0.0/8", 403)])
def test_the_callers_address_can_be_asked_for_on_the_short_way_too(account: Account, network: str, status: int) -> None:
    here = {"IpAddress": {"aws:SourceIp": network}}
    keys = account.user(f"from-{status}", allow("sagemaker:InvokeEndpoint", Condition=here))
    for _ in range(2):  # nothing is remembered that depends on it
        if status == 200:
            assert account.invoke(keys)
        else:
            assert code(lambda: account.invoke(keys)) == ("AccessDeniedException", status)


def test_a_target_model_that_was_added_on_the_way_is_refused(account: Account) -> None:
    url = f"{account.live.url}/endpoints/houses/invocations"
    request = AWSRequest("POST", url, {"Content-Type": "text/csv"}, ROW)
    SigV4Auth(Credentials(*account.live.keys), "sagemaker", REGION).add_auth(request)
    signed = {name.replace("-", "_"): value for name, value in request.headers.items()}
    target = {"X_Amzn_SageMaker_Target_Model": "b/two.tar.gz"}
    status, body = raw(account, "POST", "/endpoints/houses/invocations", ROW, **signed, **target)
    assert status == 403
    assert b"not signed: x-amzn-sagemaker-target-model" in body


def test_a_change_of_policy_holds_at_once_and_so_does_an_inactive_key(account: Account) -> None:
    keys = account.user("changing", allow("sagemaker:*"))
    assert account.invoke(keys)
    deny = document(allow("*", effect="Deny", Sid="Stop"))
    account.iam.put_user_policy(UserName="changing", PolicyName="stop", PolicyDocument=deny)
    assert code(lambda: account.invoke(keys)) == ("AccessDeniedException", 403)
    account.iam.delete_user_policy(UserName="changing", PolicyName="stop")
    assert account.invoke(keys)
    account.iam.update_access_key(UserName="changing", AccessKeyId=keys[0], Status="Inactive")
    assert code(lambda: account.invoke(keys)) == ("UnrecognizedClientException", 403)


def test_a_role_is_assumed_with_a_session_policy_and_tags(account: Account) -> None:
    keys = account.user("assuming", allow(["sts:AssumeRole", "sts:TagSession"]))
    tagged = {"StringLike": {"sagemaker:TargetModel": "${aws:PrincipalTag/Tenant}/*"}}
    role = account.role("tenants", {"AWS": ACCOUNT}, allow("sagemaker:*", Condition=tagged))
    sts = account.client("sts", keys)

    def session(**members: Any) -> Keys:
        found = sts.assume_role(RoleArn=role, RoleSessionName="s1", **members)["Credentials"]
        return found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"]

    tagged_keys = session(Tags=[{"Key": "Tenant", "Value": "b"}])
    assert account.invoke(tagged_keys, "b/two.tar.gz")
    assert code(lambda: account.invoke(tagged_keys, "a/one.tar.gz")) == ("AccessDeniedException", 403)
    limited = session(Tags=[{"Key": "Tenant", "Value": "b"}], Policy=document(allow("s3:*")))
    assert code(lambda: account.invoke(limited, "b/two.tar.gz")) == ("AccessDeniedException", 403)
    assert code(lambda: account.invoke(tagged_keys[:2], "b/two.tar.gz")) == ("UnrecognizedClientException", 403)
    for ignored in ({"SourceIdentity": "alice"}, {"TransitiveTagKeys": ["Tenant"]}, {"SerialNumber": "arn:mfa-device"}):
        assert code(lambda ignored=ignored: session(**ignored)) == ("ValidationError", 400)
    identity = account.client("sts", tagged_keys).get_caller_identity()
    assert identity["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/tenants/s1"
    stranger = account.user("stranger")
    for arn in (role, f"arn:aws:iam::{ACCOUNT}:role/none"):
        denied = lambda arn=arn: account.client("sts", stranger).assume_role(RoleArn=arn, RoleSessionName="s1")  # noqa: E731
        assert code(denied) == ("AccessDenied", 403)


def test_s3_follows_the_callers_and_the_buckets_policies(account: Account) -> None:
    root = account.client("s3")
    root.create_bucket(Bucket="shared")
    root.put_object(Bucket="shared", Key="open/k", Body=b"open")
    root.put_object(Bucket="shared", Key="own/k", Body=b"own")
    keys = account.user("reader", allow("s3:GetObject", "arn:aws:s3:::shared/own/*"))
    mine = account.client("s3", keys)
    assert mine.get_object(Bucket="shared", Key="own/k")["Body"].read() == b"own"
    for call in (
        lambda: mine.get_object(Bucket="shared", Key="open/k"),
        lambda: mine.put_object(Bucket="shared", Key="own/k", Body=b"x"),
        lambda: mine.list_objects_v2(Bucket="shared"),
        lambda: mine.copy_object(Bucket="shared", Key="own/c", CopySource="shared/open/k"),
        lambda: mine.get_object(Bucket="shared", Key="open/k", VersionId="null"),
    ):
        assert code(call)[0] == "AccessDenied"
    kept = mine.delete_objects(Bucket="shared", Delete={"Objects": [{"Key": "own/k"}]})["Errors"]
    assert [(error["Key"], error["Code"]) for error in kept] == [("own/k", "AccessDenied")]
    everyone = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::shared/open/*"}
    root.put_bucket_policy(Bucket="shared", Policy=document(everyone))
    assert raw(account, "GET", "/shared/open/k") == (200, b"open")
    assert raw(account, "GET", "/shared/own/k")[0] == 403
    assert mine.get_object(Bucket="shared", Key="open/k")["Body"].read() == b"open"
    root.put_public_access_block(
        Bucket="shared", PublicAccessBlockConfiguration={"BlockPublicPolicy": True, "RestrictPublicBuckets": True}
    )
    assert raw(account, "GET", "/shared/open/k")[0] == 403
    assert mine.get_object(Bucket="shared", Key="open/k")["Body"].read() == b"open"
    assert code(lambda: root.put_bucket_policy(Bucket="shared", Policy=document(everyone)))[0] == "AccessDenied"
    closed = {**everyone, "Effect": "Deny", "Resource": "arn:aws:s3:::shared/*"}
    root.put_bucket_policy(Bucket="shared", Policy=document(closed))
    assert code(lambda: root.get_object(Bucket="shared", Key="own/k"))[0] == "AccessDenied"
    root.delete_bucket_policy(Bucket="shared")
    assert code(lambda: root.put_bucket_policy(Bucket="shared", Policy='{"Statement": "none"}'))[0] == "MalformedPolicy"


def test_a_new_bucket_is_decided_by_its_region_and_its_tags(account: Account) -> None:
    elsewhere = {"StringNotEquals": {"s3:LocationConstraint": "eu-west-1"}}
    untagged = {"Null": {"aws:RequestTag/Team": "true"}}
    denials = [allow("s3:CreateBucket", effect="Deny", Condition=one) for one in (elsewhere, untagged)]
    s3 = account.client("s3", account.user("maker", allow("s3:*"), *denials))
    tagged = {"Tags": [{"Key": "Team", "Value": "a"}]}
    for bad in ({}, tagged, {"LocationConstraint": "eu-west-1"}, {**tagged, "LocationConstraint": "us-west-2"}):
        given = {"CreateBucketConfiguration": bad} if bad else {}
        assert code(lambda given=given: s3.create_bucket(Bucket="made", **given)) == ("AccessDenied", 403)
    s3.create_bucket(Bucket="made", CreateBucketConfiguration={**tagged, "LocationConstraint": "eu-west-1"})


def test_tags_and_parameters_decide_also_where_another_answers(account: Account) -> None:
    given = allow("*", effect="Deny", Condition={"StringEquals": {"aws:RequestTag/team": "b"}})
    keys = account.user("tagging", allow("*"), given)
    tags, calls = [{"Key": "team", "Value": "b"}], account.client("sns", keys)
    for call in (
        lambda: calls.create_topic(Name="tagged", Tags=tags),
        lambda: account.client("kms", keys).create_key(Tags=[{"TagKey": "team", "TagValue": "b"}]),
        lambda: account.client("sqs", keys).create_queue(QueueName="tagged", tags={"team": "b"}),
        lambda: account.client("secretsmanager", keys).create_secret(Name="tagged", SecretString="s", Tags=tags),
    ):
        assert code(call)[0] in ("AccessDenied", "AccessDeniedException")
    assert calls.create_topic(Name="untagged", Tags=[{"Key": "team", "Value": "a"}])
    by_queue = allow("sns:*", effect="Deny", Condition={"StringEquals": {"sns:Protocol": "sqs"}})
    long_gone = allow("*", effect="Deny", Condition={"Bool": {"secretsmanager:ForceDeleteWithoutRecovery": "true"}})
    limited = account.user("limited", allow("*"), by_queue, long_gone)
    topic = account.client("sns").create_topic(Name="told")["TopicArn"]
    subscribed = {"TopicArn": topic, "Protocol": "sqs", "Endpoint": f"arn:aws:sqs:{REGION}:{ACCOUNT}:q"}
    assert code(lambda: account.client("sns", limited).subscribe(**subscribed)) == ("AccessDenied", 403)
    secrets = account.client("secretsmanager", limited)
    secrets.create_secret(Name="kept", SecretString="s")
    deletion = {"SecretId": "kept", "ForceDeleteWithoutRecovery": True}
    assert code(lambda: secrets.delete_secret(**deletion)) == ("AccessDeniedException", 400)
    secrets.delete_secret(SecretId="kept")
    logs = account.client("logs")
    logs.create_log_group(logGroupName="kept-by-moto", tags={"team": "b"})
    logs.create_log_group(logGroupName="/aws/sagemaker/Endpoints/of-b", tags={"team": "b"})
    logs.create_log_group(logGroupName="/aws/sagemaker/Endpoints/of-a", tags={"team": "a"})
    of_b = allow("*", effect="Deny", Condition={"StringEquals": {"aws:ResourceTag/team": "b"}})
    reading = account.client("logs", account.user("reading", allow("*"), of_b))
    for name in ("kept-by-moto", "/aws/sagemaker/Endpoints/of-b"):
        assert code(lambda name=name: reading.describe_log_streams(logGroupName=name))[0] == "AccessDeniedException"
        assert code(lambda name=name: reading.delete_log_group(logGroupName=name))[0] == "AccessDeniedException"
    reading.describe_log_streams(logGroupName="/aws/sagemaker/Endpoints/of-a")


def test_presigned_links_and_forms_carry_the_rights_of_their_signer(account: Account) -> None:
    root = account.client("s3", signature_version="s3v4")  # boto3 signs links in the old way by itself
    root.create_bucket(Bucket="links")
    root.put_object(Bucket="links", Key="k", Body=b"x")
    link = root.generate_presigned_url("get_object", {"Bucket": "links", "Key": "k"})
    parts = urlsplit(link)
    path = f"{parts.path}?{parts.query}"
    assert raw(account, "GET", path) == (200, b"x")
    assert raw(account, "GET", path.replace("/k?", "/other?"))[0] == 403
    assert raw(account, "DELETE", path)[0] == 403
    nobody = account.client("s3", account.user("nobody"), signature_version="s3v4")
    refused = urlsplit(nobody.generate_presigned_url("get_object", {"Bucket": "links", "Key": "k"}))
    assert raw(account, "GET", f"{refused.path}?{refused.query}")[0] == 403
    for signer, status in ((root, 204), (nobody, 403)):
        post = signer.generate_presigned_post(
            "links", "posted", Conditions=[{"acl": "private"}], Fields={"acl": "private"}
        )
        assert post_form(account, "/links", post["fields"]) == status
        forged = {**post["fields"], "x-amz-signature": "0" * 64}
        assert post_form(account, "/links", forged) == 403
    assert post_form(account, "/links", {"key": "unsigned"}) == 403


def test_links_and_forms_of_the_old_kind_which_boto3_makes_by_itself_are_verified_too(account: Account) -> None:
    root, nobody = account.client("s3"), account.client("s3", account.user("nobody-old"))
    root.create_bucket(Bucket="old-links")
    root.put_object(Bucket="old-links", Key="k", Body=b"x")
    for signer, status in ((root, 200), (nobody, 403)):
        link = urlsplit(signer.generate_presigned_url("get_object", {"Bucket": "old-links", "Key": "k"}))
        assert "AWSAccessKeyId=" in link.query
        assert raw(account, "GET", f"{link.path}?{link.query}")[0] == status
        assert raw(account, "DELETE", f"{link.path}?{link.query}")[0] == 403
        assert raw(account, "GET", f"{link.path}?{link.query}&acl")[0] == 403
        post = signer.generate_presigned_post("old-links", "posted")
        assert post_form(account, "/old-links", post["fields"]) == {200: 204, 403: 403}[status]
        assert post_form(account, "/old-links", {**post["fields"], "signature": "AAAA"}) == 403


def post_form(account: Account, path: str, fields: dict[str, str]) -> int:
    lines = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    ]
    lines.append('--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nhello\r\n--b--\r\n')
    return raw(account, "POST", path, "".join(lines).encode(), content_type="multipart/form-data; boundary=b")[0]


def test_a_body_that_was_changed_on_the_way_is_not_stored(account: Account) -> None:
    account.client("s3").create_bucket(Bucket="bodies")
    url = f"{account.live.url}/bodies/k"
    headers = {"X-Amz-Content-SHA256": hashlib.sha256(b"signed").hexdigest()}
    for body, status in ((b"signed", 200), (b"forged", 400)):
        request = AWSRequest("PUT", url, headers, b"signed")
        from botocore.auth import S3SigV4Auth

        S3SigV4Auth(Credentials(*account.live.keys), "s3", REGION).add_auth(request)
        given = {name.replace("-", "_"): value for name, value in request.headers.items() if name != "Content-Length"}
        assert raw(account, "PUT", "/bodies/k", body, **given)[0] == status
    assert account.client("s3").get_object(Bucket="bodies", Key="k")["Body"].read() == b"signed"


def test_signed_chunks_are_stored_and_forged_ones_are_not(account: Account) -> None:
    """The SDKs for Java and Go upload so."""
    access_key, secret = account.live.keys
    payload = b"chunk" * 2000
    headers = {
        "X-Amz-Content-SHA256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "X-Amz-Decoded-Content-Length": str(len(payload)),
        "Content-Encoding": "aws-chunked",
    }
    for forged, status in ((False, 200), (True, 403)):
        request = AWSRequest("PUT", f"{account.live.url}/models/chunked", headers, b"")
        SigV4Auth(Credentials(access_key, secret), "s3", REGION).add_auth(request)
        moment = request.headers["X-Amz-Date"]
        before = request.headers["Authorization"].rpartition("=")[2]
        scope = f"{moment[:8]}/{REGION}/s3/aws4_request"
        key = f"AWS4{secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        body = b""
        for chunk in (payload, b""):
            digests = f"{hashlib.sha256(b'').hexdigest()}\n{hashlib.sha256(chunk).hexdigest()}"
            to_sign = f"AWS4-HMAC-SHA256-PAYLOAD\n{moment}\n{scope}\n{before}\n{digests}"
            before = hmac.digest(key, to_sign.encode(), "sha256").hex()
            body += f"{len(chunk):x};chunk-signature={before}\r\n".encode() + chunk + b"\r\n"
        given = {name.replace("-", "_"): value for name, value in request.headers.items() if name != "Content-Length"}
        sent = body.replace(b"chunkchunk", b"forgedforg"[:10], 1) if forged else body
        found, answer = raw(account, "PUT", "/models/chunked", sent, **given)
        assert (found, b"SignatureDoesNotMatch" in answer) == (status, forged)
    stored = account.client("s3").get_object(Bucket="models", Key="chunked")["Body"].read()
    assert stored == payload


def test_the_pages_take_an_access_key_as_user_and_password(account: Account) -> None:
    def status(keys: tuple[str, ...]) -> int:
        basic = b64encode(":".join(keys[:2]).encode()).decode()
        request = urllib.request.Request(
            f"{account.live.url}/_torpor/endpoints", headers={"Authorization": f"Basic {basic}"}
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    assert status(account.live.keys) == 200
    assert status((account.live.keys[0], "wrong")) == 401
    assert status(account.user("outsider")) == 403
    assert status(account.user("watcher", allow("torpor:ReadPages"))) == 200


def logged_in(account: Account, keys: Keys) -> dict[str, str]:
    """The cookie of a new session, and its token, as headers of one of the endpoint's own pages."""
    form = urlencode({"access_key": keys[0], "secret": keys[1]})
    status, headers, _ = answered(account, "POST", "/_torpor/login", form.encode(), **FORM)
    assert (status, headers["location"]) == (303, "/_torpor/")
    cookie, _, flags = headers["set-cookie"].partition("; ")
    assert flags == "HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"
    found = json.loads(raw(account, "GET", "/_torpor/dashboard/session", cookie=cookie)[1])
    assert found["caller"] == account.client("sts", keys).get_caller_identity()["Arn"]
    return {"cookie": cookie, "x_torpor_csrf": found["csrf"], "sec_fetch_site": "same-origin"}


def test_the_dashboard_invokes_and_uploads_with_its_session_and_its_token(account: Account) -> None:
    target = {"x_amzn_sagemaker_target_model": "a/one.tar.gz", "content_type": "text/csv"}

    def statuses(headers: dict[str, str], **more: str) -> list[int]:
        sent = {**headers, **more}
        invoked = raw(account, "POST", "/endpoints/houses/invocations", ROW, **target, **sent)
        return [invoked[0], raw(account, "PUT", "/models/uploaded", ROW, **sent)[0]]

    session = logged_in(account, account.live.keys)
    bare = {name: value for name, value in session.items() if name != "cookie"}
    tokenless = {name: value for name, value in session.items() if name != "x_torpor_csrf"}
    unsited = {name: value for name, value in session.items() if name != "sec_fetch_site"}
    assert statuses(session) == [200, 200]
    assert statuses(bare) == [401, 401]
    assert statuses(tokenless) == [403, 403]
    assert statuses(unsited) == [403, 403]  # no page of the endpoint's sends it
    assert statuses(session, origin="http://evil.test") == [403, 403]
    assert statuses({**session, "sec_fetch_site": "same-site"}) == [403, 403]
    assert raw(account, "GET", "/models/uploaded", **session)[0] == 403  # no page reads objects
    assert raw(account, "POST", "/?Action=ListUsers&Version=2010-05-08", **session, **FORM)[0] == 403
    assert statuses(logged_in(account, account.user("page", allow("torpor:*")))) == [403, 403]


def test_a_session_ends_with_its_key_and_sees_policies_change_at_once(account: Account) -> None:
    keys = account.user("viewer", allow("torpor:ReadPages"))
    session = logged_in(account, keys)

    def page(path: str = "endpoints", method: str = "GET", **more: str) -> int:
        return raw(account, method, f"/_torpor/{path}", **session, **more)[0]

    assert (page(), page("denials")) == (200, 403)
    assert page("unload?endpoint=houses&model=a/one.tar.gz", "POST") == 403
    account.iam.delete_user_policy(UserName="viewer", PolicyName="own")
    assert page() == 403
    assert page("", accept="text/html") == 403
    account.iam.update_access_key(UserName="viewer", AccessKeyId=keys[0], Status="Inactive")
    account.iam.update_access_key(UserName="viewer", AccessKeyId=keys[0], Status="Active")
    assert page() == 401
    second = logged_in(account, keys)
    assert raw(account, "POST", "/_torpor/logout", **{**second, "x_torpor_csrf": "0"})[0] == 403
    assert raw(account, "POST", "/_torpor/logout", **second)[0] == 303
    assert raw(account, "GET", "/_torpor/endpoints", **second)[0] == 401


def test_a_tenant_without_a_right_to_the_pages_sees_its_own_models(account: Account) -> None:
    mine = {"StringLike": {"sagemaker:TargetModel": "a/*"}}
    keys = account.user("looker", allow("sagemaker:InvokeEndpoint", HOUSES, Condition=mine))
    for target in ("a/one.tar.gz", "b/two.tar.gz"):
        account.invoke(account.live.keys, target)
    session = logged_in(account, keys)
    assert raw(account, "GET", "/_torpor/endpoints", **session)[0] == 403
    own = json.loads(raw(account, "GET", "/_torpor/own", **session)[1])["endpoints"]
    assert [(one["name"], [model["name"] for model in one["models"]]) for one in own] == [("houses", ["a/one.tar.gz"])]
    model = own[0]["models"][0]
    assert (model["instances"], model["requests"] > 0, model["size_bytes"] > 0) == (1, True, True)
    status, body = raw(account, "GET", "/_torpor/", **session, accept="text/html")
    assert (status, b"a/one.tar.gz" in body, b"b/two.tar.gz" in body) == (200, True, False)
    everything = json.loads(raw(account, "GET", "/_torpor/own", **logged_in(account, account.live.keys))[1])
    (houses,) = everything["endpoints"]
    assert {"a/one.tar.gz", "b/two.tar.gz"} <= {model["name"] for model in houses["models"]}


def test_who_may_invoke_nothing_has_no_page_about_itself(account: Account) -> None:
    session = logged_in(account, account.user("nobody-here"))
    assert json.loads(raw(account, "GET", "/_torpor/own", **session)[1]) == {"endpoints": []}
    status, body = raw(account, "GET", "/_torpor/", **session, accept="text/html")
    assert (status, b"torpor:ReadPages" in body) == (403, True)
    assert raw(account, "GET", "/_torpor/own")[0] == 401
    assert raw(account, "POST", "/_torpor/own", **session)[0] == 405


def test_a_browser_without_a_session_is_led_to_the_login(account: Account) -> None:
    status, headers, _ = answered(account, "GET", "/_torpor/", accept="text/html", sec_fetch_site="none")
    assert (status, headers["location"]) == (303, "/_torpor/login")
    status, headers, _ = answered(account, "GET", "/_torpor/endpoints", sec_fetch_site="same-origin")
    assert (status, "www-authenticate" in headers) == (401, False)
    basic = b64encode(":".join(account.live.keys[:2]).encode()).decode()
    ambient = {"authorization": f"Basic {basic}", "sec_fetch_site": "same-origin"}
    assert raw(account, "GET", "/_torpor/endpoints", **ambient)[0] == 401  # what a browser adds by itself


def test_a_denial_is_told_by_the_id_that_the_caller_saw_to_those_who_may_know(account: Account) -> None:
    keys = account.user("curious", allow("torpor:ReadPages"))
    account.iam.create_group(GroupName="callers")
    own = {"StringLike": {"sagemaker:TargetModel": "a/*"}}
    policy = document(allow("sagemaker:InvokeEndpoint", HOUSES, Sid="Own", Condition=own))
    account.iam.put_group_policy(GroupName="callers", PolicyName="models", PolicyDocument=policy)
    assert code(lambda: account.invoke(keys)) == ("AccessDeniedException", 403)
    account.iam.add_user_to_group(GroupName="callers", UserName="curious")
    assert account.invoke(keys)
    refused: dict[str, Callable[[], Any]] = {
        "runtime": lambda: account.invoke(keys, "b/two.tar.gz"),
        "S3": lambda: account.client("s3", keys).get_object(Bucket="models", Key="k"),
        "STS": lambda: account.client("sts", keys).assume_role(
            RoleArn=f"arn:aws:iam::{ACCOUNT}:role/TorporRole", RoleSessionName="s1"
        ),
        "SageMaker": lambda: account.client("sagemaker", keys).list_models(),
    }
    told = {}
    for name, call in refused.items():
        with pytest.raises(ClientError) as caught:
            call()
        path = f"/_torpor/denials?id={caught.value.response['ResponseMetadata']['RequestId']}"
        (told[name],) = json.loads(raw(account, "GET", path, **logged_in(account, account.live.keys))[1])["denials"]
        assert raw(account, "GET", path, **logged_in(account, keys))[0] == 403
    assert {one["caller"] for one in told.values()} == {f"arn:aws:iam::{ACCOUNT}:user/curious"}
    runtime = told["runtime"]
    assert (runtime["action"], runtime["resource"]) == ("sagemaker:InvokeEndpoint", HOUSES)
    assert {"key": "sagemaker:targetmodel", "values": ["b/two.tar.gz"]} in runtime["keys"]
    assert runtime["policies"][1] == {
        "policy": "the inline policy models of group callers",
        "kind": "identity-based policy",
        "says": 'statement "Own" allows it if StringLike sagemaker:TargetModel a/*',
    }
    assert told["STS"]["policies"][-1]["kind"] == "role trust policy"
    assert (told["S3"]["action"], told["SageMaker"]["action"]) == ("s3:GetObject", "sagemaker:ListModels")


@needs_browser
def test_a_person_logs_in_invokes_uploads_and_logs_out(account: Account, tmp_path: Path) -> None:
    with dashboard_visit(account.live.url) as visit:
        page = visit.page
        page.goto(f"{account.live.url}/_torpor/")
        for secret in ("wrong", account.live.keys[1]):
            page.get_by_label("Access key").fill(account.live.keys[0])
            page.get_by_label("Secret").fill(secret)
            page.get_by_role("button", name="Log in").click()
            if secret == "wrong":
                page.get_by_role("alert").wait_for()
        visit.show("houses", "invoke")
        page.locator("#invoke-model").fill("a/one.tar.gz")
        page.get_by_role("button", name="Invoke", exact=True).click()
        page.get_by_text("HTTP 200").wait_for()
        model = tmp_path / "dropped.tar.gz"
        model.write_bytes(packed({"model.json": booster()}))
        page.locator("#upload-file").set_input_files(model)
        page.get_by_text("dropped.tar.gz is in S3").wait_for()
        assert page.evaluate("document.cookie + JSON.stringify([localStorage, sessionStorage])") == "[{},{}]"
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/_torpor/login")
        page.goto(f"{account.live.url}/_torpor/")
        assert page.url.endswith("/_torpor/login")
        assert (visit.strangers, len(visit.complaints)) == ([], 1)  # the console tells of the wrong try's 403


def test_a_caller_hands_on_only_roles_that_it_may_pass(account: Account) -> None:
    keys = account.user("deployer", allow("sagemaker:*"))
    sagemaker = account.client("sagemaker", keys)
    model = {
        "ModelName": "handed",
        "PrimaryContainer": {"Image": "torpor", "ModelDataUrl": "s3://models/all/a/one.tar.gz"},
    }
    role = f"arn:aws:iam::{ACCOUNT}:role/TorporRole"
    with pytest.raises(ClientError, match=r"not authorized to perform: iam:PassRole on resource: .*TorporRole"):
        sagemaker.create_model(ExecutionRoleArn=role, **model)
    account.iam.put_user_policy(
        UserName="deployer", PolicyName="pass", PolicyDocument=document(allow("iam:PassRole", role))
    )
    sagemaker.create_model(ExecutionRoleArn=role, **model)


def test_a_simulation_asks_the_policies(account: Account) -> None:
    account.user("simulated", allow("s3:GetObject", "arn:aws:s3:::models/*"), allow("s3:DeleteObject", effect="Deny"))
    source = {"PolicySourceArn": f"arn:aws:iam::{ACCOUNT}:user/simulated"}
    actions = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    resources = ["arn:aws:s3:::models/k"]
    found = account.iam.simulate_principal_policy(**source, ActionNames=actions, ResourceArns=resources)
    decisions = [one["EvalDecision"] for one in found["EvaluationResults"]]
    assert decisions == ["allowed", "implicitDeny", "explicitDeny"]
    source["PolicySourceArn"] += "-none"
    assert code(lambda: account.iam.simulate_principal_policy(**source, ActionNames=actions)) == ("NoSuchEntity", 404)


def test_a_users_own_temporary_keys_have_its_rights_and_web_identities_are_refused(account: Account) -> None:
    keys = account.user("temporary", allow("sagemaker:*"))
    found = account.client("sts", keys).get_session_token()["Credentials"]
    own = found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"]
    assert account.invoke(own)
    assert account.client("sts", own).get_caller_identity()["Arn"].endswith(":user/temporary")
    assert code(account.client("sts", own).get_session_token) == ("AccessDenied", 403)
    sts, role = account.client("sts"), f"arn:aws:iam::{ACCOUNT}:role/TorporRole"
    web = {"RoleArn": role, "RoleSessionName": "s1", "WebIdentityToken": "a.b.c"}
    assert code(lambda: sts.assume_role_with_web_identity(**web))[1] == 403
    assert code(lambda: sts.get_federation_token(Name="walk")) == ("AccessDenied", 403)
    account.iam.delete_access_key(UserName="temporary", AccessKeyId=keys[0])
    account.iam.delete_user_policy(UserName="temporary", PolicyName="own")
    account.iam.delete_user(UserName="temporary")
    assert code(lambda: account.invoke(own)) == ("UnrecognizedClientException", 403)


TENSOR = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}


def test_a_tenant_sees_and_calls_its_own_models_by_the_open_inference_protocol(account: Account) -> None:
    mine = {"StringLike": {"sagemaker:TargetModel": "a/*"}}
    keys = account.user("v2-tenant", allow("sagemaker:InvokeEndpoint", HOUSES, Condition=mine))
    basic = f"Basic {b64encode(':'.join(keys).encode()).decode()}"
    inference = json.dumps({"inputs": [TENSOR]}).encode()

    def v2(path: str, body: bytes = b"", method: str = "POST") -> tuple[int, Any]:
        status, content = raw(account, method, f"/v2{path}", body, authorization=basic)
        return status, json.loads(content or b"null")

    assert v2("/models/a/one/infer", inference)[0] == v2("/models/a/one.tar.gz/infer", inference)[0] == 200
    for path, body, method in (
        ("/models/b/two/infer", inference, "POST"),
        ("/models/b/none/infer", inference, "POST"),
        ("/models/b/two", b"", "GET"),
        ("/models/b/none/ready", b"", "GET"),
        ("/repository/models/a/one/unload", b"", "POST"),
        ("/repository/models/a/one/load", b"", "POST"),
    ):
        status, content = v2(path, body, method)
        assert (status, list(content)) == (403, ["error"])
    account.invoke(account.live.keys, "b/two.tar.gz")
    assert [one["name"] for one in v2("/repository/index")[1]] == ["a/one.tar.gz"]
    assert [one["name"] for one in v2("/models/stats", method="GET")[1]["model_stats"]] == ["a/one.tar.gz"]
    assert v2("/models/b/two/stats", method="GET") == (404, {"error": "model b/two not found"})
    assert v2("/models/b/none/stats", method="GET") == (404, {"error": "model b/none not found"})


def test_the_open_inference_protocol_takes_signatures_and_has_open_health(account: Account) -> None:
    assert raw(account, "GET", "/v2/health/ready")[0] == 200
    url = f"{account.live.url}/v2/models/b/two/infer"
    request = AWSRequest("POST", url, data=json.dumps({"inputs": [TENSOR]}).encode())
    SigV4Auth(Credentials(*account.live.keys), "sagemaker", REGION).add_auth(request)
    headers = {name.replace("-", "_"): value for name, value in request.headers.items()}
    status, content = raw(account, "POST", "/v2/models/b/two/infer", request.body, **headers)
    assert (status, json.loads(content).get("model_name")) == (200, "b/two"), content
    assert raw(account, "POST", "/v2/models/b/two/infer", b"{}")[0] == 401

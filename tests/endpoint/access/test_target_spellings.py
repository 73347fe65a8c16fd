"""Policies are asked about the object that is served: no spelling of a target model, and no face, gets round them."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from fnmatch import fnmatchcase
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.live_router import LiveRouter
from tests.helpers.example_counts import tries
from torpor_endpoint.routing.protocol.router_variables import CONTROL_KEY, CONTROL_SECRET

NAMES = (
    *("tenant-a/m", "tenant-b/m", "/tenant-b/m", "tenant-b//m", "tenant-b/m/", "Tenant-B/m", "tenant%2Db/m"),
    *("tenant-b%2Fm", "tenant-b/\u00e9", "tenant-b/e\u0301", " tenant-b/m"),
)
"""The objects below the prefix. The model of each answers its place."""
SPELLINGS = (
    *NAMES,
    *(f"/{name}" for name in NAMES),
    *("./tenant-b/m", "tenant-a/../tenant-b/m", "/./tenant-b/m", "///tenant-b/m", "tenant-b/./m", "tenant-b/m/.."),
    *("\u00a0tenant-b/m", "tenant-b/\u200bm", "%2Ftenant-b/m", "\\tenant-b/m", "TENANT-B/M", ".tenant-b/m", "", "/"),
)


class Kind(NamedTuple):
    """A user's one statement about target models. `allows` says whether one allows them to call what matches."""

    effect: str
    operator: str
    pattern: str

    def allows(self, name: str) -> bool:
        """By the name of the object, which a policy may spell with the slash that AWS drops."""
        pattern = self.pattern.removeprefix("/")
        if "IgnoreCase" in self.operator:
            name, pattern = name.lower(), pattern.lower()
        matches = fnmatchcase(name, pattern) if "Like" in self.operator else name == pattern
        return (matches is not ("Not" in self.operator)) is (self.effect == "Allow")


KINDS = {
    f"{effect}-{operator}-{number}".replace(":", "-"): Kind(effect, operator, pattern)
    for effect in ("Deny", "Allow")
    for operator, patterns in {
        "StringEquals": ("tenant-b/m", "/tenant-b/m", "//tenant-b/m"),
        "StringNotEquals": ("tenant-a/m",),
        "StringEqualsIgnoreCase": ("TENANT-B/m",),
        "StringLike": ("tenant-b/*", "/tenant-b/*"),
        "StringNotLike": ("tenant-a/*", "/tenant-a/*"),
        "StringLikeIfExists": ("tenant-b/*",),
        "ForAnyValue:StringLike": ("tenant-b/*",),
        "ForAllValues:StringNotLike": ("tenant-a/*",),
    }.items()
    for number, pattern in enumerate(patterns)
}
FACES = (
    *("invocations", "invocations, slowly", "invocations, at a router"),
    *("invocations-response-stream", "async-invocations"),
)
Keys = tuple[str, str]


class Tenancy:
    """An endpoint that verifies its callers, and a user for each kind of statement."""

    def __init__(self, live: LiveEndpoint, router: LiveRouter) -> None:
        self.live = live
        self.router = router
        self.connections = {url: HTTPConnection(urlsplit(url).netloc, timeout=60.0) for url in (live.url, router.url)}
        self.keys: dict[str, Keys] = {}

    def user(self, name: str, *statements: Mapping[str, Any]) -> None:
        iam = self.live.client("iam")
        iam.create_user(UserName=name)
        document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=document)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        self.keys[name] = key["AccessKeyId"], key["SecretAccessKey"]

    def invoke(self, user: str, face: str, target: str) -> tuple[int, bytes]:
        """Status and body of a call of a model."""
        endpoint = "later" if face == "async-invocations" else "many"
        return self.call(user, face, endpoint, {"X-Amzn-SageMaker-Target-Model": target})

    def call(
        self, user: str, face: str, endpoint: str, headers: dict[str, str], *more: tuple[str, str]
    ) -> tuple[int, bytes]:
        """Status and body. `slowly`: the body is chunked, so that the request does not go the short way. `more` are
        headers that may repeat others."""
        way, _, how = face.partition(", ")
        base, slowly = self.router.url if "router" in how else self.live.url, how == "slowly"
        connection = self.connections[base]
        headers["Content-Type"] = "text/csv"
        if way == "async-invocations":
            headers["X-Amzn-SageMaker-Content-Type"] = "text/csv"
        url = f"{base}/endpoints/{endpoint}/{way}"
        request = AWSRequest("POST", url, headers, b"1")
        for name, value in more:
            request.headers.add_header(name, value)
        SigV4Auth(Credentials(*self.keys[user]), "sagemaker", REGION).add_auth(request)
        connection.putrequest("POST", f"/endpoints/{endpoint}/{way}")
        for name, value in request.headers.items():
            connection.putheader(name, value.encode())
        connection.putheader(*(("Transfer-Encoding", "chunked") if slowly else ("Content-Length", "1")))
        connection.endheaders(b"1\r\n1\r\n0\r\n\r\n" if slowly else b"1")
        answer = connection.getresponse()
        return answer.status, answer.read()

    def get(self, user: str, path: str, **headers: str) -> tuple[int, bytes]:
        """Status and body of a request to S3 whose path goes as it is."""
        method = "PUT" if headers else "GET"
        request = AWSRequest(method, f"{self.live.url}{path}", {f"x-amz-{name}": one for name, one in headers.items()})
        S3SigV4Auth(Credentials(*self.keys[user]), "s3", REGION).add_auth(request)
        connection = self.connections[self.live.url]
        connection.request(method, path, headers=dict(request.headers.items()))
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture(scope="module")
def tenancy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenancy]:
    with ExitStack() as stack:
        live = stack.enter_context(LiveEndpoint(tmp_path_factory.mktemp("spellings"), "--auth"))
        root = {CONTROL_KEY: live.keys[0], CONTROL_SECRET: live.keys[1]}
        router = LiveRouter(live.url, tmp_path_factory.mktemp("router") / "log", root)
        stack.callback(router.kill)
        found = Tenancy(live, router)
        for connection in found.connections.values():
            stack.callback(connection.close)
        deploy(live)
        make_users(found)
        yield found


def deploy(live: LiveEndpoint) -> None:
    """Objects, and an endpoint of each kind that serves them."""
    s3 = live.client("s3")
    s3.create_bucket(Bucket="models")
    s3.create_bucket(Bucket="copies")
    for number, name in enumerate(NAMES):
        s3.put_object(Bucket="models", Key=f"all/{name}", Body=constant(float(number)))
        s3.put_object(Bucket="models", Key=f"texts/{name}", Body=f"texts/{name}".encode())
    results = {"OutputConfig": {"S3OutputPath": "s3://copies/results"}}
    live.deploy("many", Variant(many("models/all/")))
    live.deploy("later", Variant(many("models/all/")), AsyncInferenceConfig=results)
    places = [one("models/all/tenant-a/m", ContainerHostname=name) for name in ("common-a", "special-b")]
    live.deploy("direct", Variant(places, mode="Direct"))


def make_users(tenancy: Tenancy) -> None:
    """A user for each kind of statement, two for containers, and two for objects."""
    every = {"Action": "sagemaker:Invoke*", "Resource": "*"}
    for name, kind in KINDS.items():
        condition = {kind.operator: {"sagemaker:TargetModel": kind.pattern}}
        told = {"Effect": kind.effect, "Condition": condition, **every}
        tenancy.user(name, told, *([{"Effect": "Allow", **every}] if kind.effect == "Deny" else []))
    common = {"StringLike": {"sagemaker:TargetContainerHostname": "common*"}}
    tenancy.user("common", {"Effect": "Allow", "Condition": common, **every})
    special = {"StringLike": {"sagemaker:TargetContainerHostname": "special*"}}
    tenancy.user("uncommon", {"Effect": "Allow", **every}, {"Effect": "Deny", "Condition": special, **every})
    texts = "arn:aws:s3:::models/texts"
    of_b = {"Effect": "Deny", "Action": "s3:GetObject", "Resource": f"{texts}/tenant-b/*"}
    tenancy.user("all-but-b", {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}, of_b)
    copies = {"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::copies/*"}
    tenancy.user("a-alone", {"Effect": "Allow", "Action": "s3:*", "Resource": f"{texts}/tenant-a/*"}, copies)


def named(spelling: str) -> str | None:
    """The object that a spelling names, by AWS's words; None for what no reader takes as it is."""
    name = spelling.removeprefix("/")
    unfit = not name or spelling[0].isspace() or not spelling.isprintable()
    return None if unfit or {".", ".."} & set(spelling.split("/")) else name


@settings(max_examples=tries(20))
@given(st.sampled_from(SPELLINGS), st.sampled_from(FACES), st.sampled_from(sorted(KINDS)))
@example("/tenant-b/m", "invocations", "Deny-StringLike-0")
@example("/tenant-b/m", "invocations-response-stream", "Deny-StringEquals-0")
@example("/tenant-b/m", "async-invocations", "Deny-StringLike-0")
@example("/tenant-a/m", "invocations", "Deny-StringNotLike-0")
@example("/tenant-b/m", "invocations", "Allow-StringNotLike-0")
@example("//tenant-b/m", "invocations", "Deny-StringEquals-2")
@example("/ tenant-b/m", "invocations", "Deny-StringEquals-0")
def test_every_spelling_of_an_object_meets_the_decision_about_it(
    tenancy: Tenancy, spelling: str, face: str, kind: str
) -> None:
    status, body = tenancy.invoke(kind, face, spelling.strip(" "))  # HTTP itself drops blanks around a header
    name = named(spelling.strip(" "))
    if name is None:
        assert status in (400, 403), body
    elif not KINDS[kind].allows(name):
        assert status == 403, body
    elif face == "async-invocations":
        assert status == 202, body
    elif name in NAMES:
        assert status == 200, body
        assert float(body[body.index(b"[") + 1 : body.index(b"]")]) == NAMES.index(name)
    else:
        assert status == 400, body


@pytest.mark.parametrize("face", FACES[:4])
@pytest.mark.parametrize("second", ["tenant-a/m", "tenant-b/m", "/tenant-a/m"])
def test_a_call_with_two_target_models_is_refused_whichever_is_allowed(
    tenancy: Tenancy, face: str, second: str
) -> None:
    header = "X-Amzn-SageMaker-Target-Model"
    status, body = tenancy.call("Deny-StringLike-0", face, "many", {header: "tenant-a/m"}, (header, second))
    assert (status, b"Duplicate x-amzn-sagemaker-target-model header" in body) == (400, True)


PIECES = (
    *(
        "/",
        "//",
        "/./",
        "/../",
        "/%2e%2e/",
        "%2F",
        "%2f",
        "/%2E/",
        "\\",
        "%5C",
        ";x=",
        "%00",
        "+",
        "%20",
        "%252F",
        "?x=/",
    ),
    *(
        "models",
        "MODELS",
        "texts",
        "%74exts",
        "tenant-a",
        "tenant-b",
        "tenant%2Db",
        "Tenant-b",
        "m",
        "%6D",
        "%C3%A9",
        "e",
    ),
)
PATHS = st.sampled_from([f"/models/texts/{quote(name)}" for name in NAMES]) | st.lists(
    st.sampled_from(PIECES), max_size=8
).map(lambda pieces: f"/models/{''.join(pieces)}")
WALKS = st.sampled_from(
    [
        *("/models/texts/tenant-a/../tenant-b/m", "/models/texts/./tenant-b/m", "/models//texts/tenant-b/m"),
        *("/models/texts/tenant-a/%2e%2e/tenant-b/m", "//models/texts/tenant-b/m", "/models/texts/tenant-b%2Fm"),
        *(
            "/models/texts%2Ftenant-b/m",
            "/models%2Ftexts/tenant-b/m",
            "/models/%74exts/tenant%2Db/%6D",
            "/models/texts/tenant-b/m/",
        ),
    ]
)
MAY_READ: dict[str, Callable[[str], bool]] = {
    "all-but-b": lambda key: not key.startswith("texts/tenant-b/"),
    "a-alone": lambda key: key.startswith("texts/tenant-a/"),
}


def test_users_read_and_copy_the_objects_that_they_may(tenancy: Tenancy) -> None:
    for user, key, status in (
        *(("all-but-b", "tenant-a/m", 200), ("all-but-b", "Tenant-B/m", 200), ("all-but-b", "tenant-b/m", 403)),
        *(("a-alone", "tenant-a/m", 200), ("a-alone", "Tenant-B/m", 403), ("a-alone", "tenant-b/m", 403)),
    ):
        found = tenancy.get(user, f"/models/texts/{key}")
        assert (found[0], found[1] == f"texts/{key}".encode()) == (status, status == 200)
        copied = tenancy.get(user, "/copies/texts/tenant-a/copied", **{"copy-source": f"models/texts/{key}"})
        assert copied[0] == status


@settings(max_examples=tries(20))
@given(PATHS | WALKS, st.sampled_from(("get", "copy", "copy, by a name of its own")), st.sampled_from(sorted(MAY_READ)))
@example("/models/texts/tenant-b%2Fm", "get", "all-but-b")
@example("/models/texts/tenant-b/m", "copy", "all-but-b")
@example("/models/texts/tenant-a/m", "copy", "a-alone")
def test_no_spelling_of_a_path_reads_an_object_that_the_policy_keeps(
    tenancy: Tenancy, path: str, way: str, user: str
) -> None:
    """The body of each object is its key: what was read says which object it was."""
    if way == "get":
        status, body = tenancy.get(user, path)
    else:
        source = path if way == "copy" else path.removeprefix("/").replace("%2F", "/")
        status, body = tenancy.get(user, "/copies/texts/tenant-a/copied", **{"copy-source": source})
        if status == 200:
            _, body = tenancy.get(user, "/copies/texts/tenant-a/copied")
    if status == 200 and body.startswith(b"texts/"):
        assert MAY_READ[user](body.decode()), body


@pytest.mark.parametrize("face", FACES[:4])
@pytest.mark.parametrize("user", ["common", "uncommon"])
def test_a_policy_limits_direct_calls_to_some_containers(tenancy: Tenancy, user: str, face: str) -> None:
    host = "X-Amzn-SageMaker-Target-Container-Hostname"
    for _ in range(2):  # what was allowed for one container is not remembered for the other
        for name, status in {"common-a": 200, "special-b": 403}.items():
            assert tenancy.call(user, face, "direct", {host: name})[0] == status
    none = tenancy.call(user, face, "direct", {})
    assert none[0] == (403 if user == "common" else 400), none

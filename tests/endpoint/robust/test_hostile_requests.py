"""What a hostile page can have a browser send reaches no face of a running endpoint. It needs no browser.

`test_web_pages_in_a_browser` does the same with a real one, where Chromium is installed.
"""

from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint

FORM = {"content-type": "application/x-www-form-urlencoded"}
FILE = {"content-type": "multipart/form-data; boundary=b"}
PLAIN = {"content-type": "text/plain"}
UPLOAD = (
    b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\npwned\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n'
)
MODEL = b'{"ModelName": "pwned", "PrimaryContainer": {"Image": "torpor", "ModelDataUrl": "s3://victim/m.tar.gz"}}'
ROLE = b"Action=CreateRole&Version=2010-05-08&RoleName=pwned&AssumeRolePolicyDocument=%7B%7D"
ALARM = b"Action=DeleteAlarms&Version=2010-08-01&AlarmNames.member.1=alarm"

FACES: Mapping[str, tuple[str, str, Mapping[str, str], bytes]] = {
    "SageMaker": ("POST", "/", {**PLAIN, "x-amz-target": "SageMaker.CreateModel"}, MODEL),
    "runtime": ("POST", "/endpoints/houses/invocations", PLAIN, b"1,2"),
    "S3, a form": ("POST", "/victim", FILE, UPLOAD),
    "S3, a fetch": ("PUT", "/victim/pwned", PLAIN, b"x"),
    "S3, a read": ("GET", "/victim/secret", {}, b""),
    "IAM": ("POST", "/", FORM, ROLE),
    "CloudWatch": ("POST", "/", FORM, ALARM),
    "moto's SNS": ("POST", "/", FORM, b"Action=CreateTopic&Version=2010-03-31&Name=pwned"),
    "an unnamed service": ("POST", "/", FORM, b"Action=CreateTopic&Name=pwned"),
    "Torpor's pages": ("POST", "/_torpor/models", PLAIN, b""),
    "the dashboard": ("GET", "/_torpor/dashboard/feed", {}, b""),
}
ATTACKS: Mapping[str, Mapping[str, str]] = {
    "another origin": {"origin": "http://evil.test", "sec-fetch-site": "cross-site"},
    "an old browser": {"origin": "http://evil.test"},
    "a sandboxed frame": {"origin": "null"},
    "an image or a link": {"sec-fetch-site": "cross-site"},
    "another port": {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
    "a rebound name": {"host": "evil.test", "origin": "http://evil.test", "sec-fetch-site": "same-origin"},
    "a rebound name's link": {"host": "evil.test", "sec-fetch-site": "none"},
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("hostile")) as live:
        (live.folder("victim") / "secret").write_text("the victim's own")
        live.cloudwatch.put_metric_alarm(
            AlarmName="alarm",
            Namespace="n",
            MetricName="m",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1.0,
            ComparisonOperator="GreaterThanThreshold",
        )
        yield live


def status(live: LiveEndpoint, face: str, about: Mapping[str, str]) -> tuple[int, bytes]:
    method, path, headers, body = FACES[face]
    connection = HTTPConnection(urlsplit(live.url).netloc, timeout=60)
    try:
        connection.request(method, path, body, {**headers, **about})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_every_attack_is_refused_by_every_face_and_changes_nothing(live: LiveEndpoint) -> None:
    for face in FACES:
        for attack, headers in ATTACKS.items():
            answered, body = status(live, face, headers)
            assert (face, attack, answered) == (face, attack, 403)
            assert b"the victim's own" not in body
    assert [item["Key"] for item in live.client("s3").list_objects_v2(Bucket="victim")["Contents"]] == ["secret"]
    assert live.sagemaker.list_models()["Models"] == []
    assert "pwned" not in str(live.client("sns").list_topics()["Topics"])
    assert "pwned" not in str(live.client("iam").list_roles()["Roles"])
    assert [alarm["AlarmName"] for alarm in live.cloudwatch.describe_alarms()["MetricAlarms"]] == ["alarm"]


def test_the_same_requests_of_a_program_are_not_refused_as_a_pages(live: LiveEndpoint) -> None:
    """So the test above cannot pass for another reason. This one only reads."""
    assert status(live, "S3, a read", {}) == (200, b"the victim's own")
    assert status(live, "runtime", {})[0] == 400
    own = {"origin": live.url, "sec-fetch-site": "same-origin"}
    assert status(live, "S3, a read", own) == (200, b"the victim's own")

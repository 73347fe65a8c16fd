"""A victim's browser opens hostile pages beside a running endpoint: nothing changes, and nothing is read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.account.helpers.hostile_web_site import WITHIN_S, HostileWebSite, Rebinding, browser, opened, page
from tests.endpoint.helpers.live_endpoint import LiveEndpoint

pytestmark = pytest.mark.skipif(browser() is None, reason="no Chromium is installed: apt-get install chromium")

SCRIPT = "<p>uploaded</p><script>document.body.innerHTML = 'scripted'; fetch('/models/typed', {method: 'PUT'})</script>"
SECRET = "the victim's own"


@dataclass(frozen=True)
class Visit:
    """The reports of the pages, by their marks, and the endpoint after them."""

    live: LiveEndpoint
    read: Mapping[str, Mapping[str, str]]

    def made(self, mark: str) -> set[str]:
        """The resources with this mark, in every service that the pages tried to write to."""
        s3, metrics = self.live.client("s3"), self.live.cloudwatch.list_metrics(Namespace="Pwned")["Metrics"]
        buckets = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
        keys = [item["Key"] for name in buckets for item in s3.list_objects_v2(Bucket=name).get("Contents", ())]
        topics = [topic["TopicArn"].split(":")[-1] for topic in self.live.client("sns").list_topics()["Topics"]]
        roles = [role["RoleName"] for role in self.live.client("iam").list_roles()["Roles"]]
        names = [*keys, *topics, *roles, *(metric["MetricName"] for metric in metrics)]
        return {name.removeprefix(f"{mark}-") for name in names if name.startswith(f"{mark}-")}


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """One walk of one browser: a page of another site, of another port of the same host, of a name that is then led
    here, and of a friend."""
    site = HostileWebSite("127.0.0.1")
    friend = f"friend.localhost:{site.port}"
    with LiveEndpoint(tmp_path_factory.mktemp("live"), "--allow-origin", f"http://{friend}") as live:
        _furnish(live.client("s3"), f"http://localhost:{site.port}")
        live.client("sns").list_topics()  # moto's import takes seconds, which no page should have to wait for
        port = urlsplit(live.url).port or 0
        rebinding = Rebinding(("127.0.0.2", port), ("127.0.0.1", port))
        hosts = {
            "other": f"localhost:{site.port}",
            "near": f"127.0.0.1:{site.port}",
            "rebound": f"evil.test:{port}",
            "friend": friend,
        }
        url, report = "", f"http://127.0.0.1:{site.port}/report"
        for mark, host in reversed(hosts.items()):
            endpoint = f"http://{host}" if mark == "rebound" else live.url
            url = page(host, endpoint=endpoint, mark=mark, report=report, next=url)
        try:
            with opened(url, "--host-resolver-rules=MAP evil.test 127.0.0.2"):
                yield Visit(live, {mark: site.report(mark) for mark in hosts})
        finally:
            rebinding.close()
            site.close()


def _furnish(s3: Any, origin: str) -> None:
    for bucket in ("models", "open"):
        s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket="models", Key="secret.txt", Body=SECRET.encode())
    s3.put_object(Bucket="models", Key="script.html", Body=SCRIPT.encode(), ContentType="text/html")
    s3.put_object(Bucket="models", Key="script.js", Body=b"window.stolen = 'stolen'", ContentType="text/javascript")
    s3.put_object(Bucket="open", Key="hello.txt", Body=b"hello")
    rule = {"AllowedOrigins": [origin], "AllowedMethods": ["GET", "PUT"], "AllowedHeaders": ["x-amz-*"]}
    s3.put_bucket_cors(Bucket="open", CORSConfiguration={"CORSRules": [rule]})


@pytest.mark.parametrize("mark", ["near", "rebound"])
def test_a_page_of_another_origin_changes_nothing_and_reads_nothing(visit: Visit, mark: str) -> None:
    assert visit.made(mark) == set()
    assert {name: text for name, text in visit.read[mark].items() if text and mark != "rebound"} == {}
    assert {text[:3] for text in visit.read[mark].values()} <= {"", "403"}  # a rebound name can read that it is refused
    assert not any(SECRET in text for text in visit.read[mark].values())


def test_a_bucket_s_configuration_lets_a_page_in_to_that_bucket_alone(visit: Visit) -> None:
    assert visit.made("other") == {"put"}
    read = {name: text for name, text in visit.read["other"].items() if text}
    assert read == {"open bucket": "200 hello", "open bucket's put": "200 "}


def test_an_origin_that_is_allowed_may_do_all_that_the_others_tried(visit: Visit) -> None:
    """So the others' attempts were good ones, and had left everything there."""
    assert visit.made("friend") >= {"form", "redirect", "role", "topic", "metric", "put", "fetch", "copy", "beacon"}
    read = visit.read["friend"]
    assert (read["object"], read["delete"]) == (f"200 {SECRET}", "204 ")
    assert "Models" in read["json"]
    assert "endpoints" in read["own page"]


def test_an_uploaded_page_runs_no_script_of_the_endpoints_origin(visit: Visit) -> None:
    with opened(f"{visit.live.url}/models/script.html", "--dump-dom") as running:
        shown, _ = running.communicate(timeout=WITHIN_S)
    assert b"<p>uploaded</p>" in shown
    assert b"scripted" not in shown.split(b"<script>")[0]
    assert "typed" not in [item["Key"] for item in visit.live.client("s3").list_objects_v2(Bucket="models")["Contents"]]

"""`/_torpor/` is the dashboard for a browser and a list for others; each has its own security headers."""

import asyncio
from typing import Any

import pytest

from torpor_account.aws.wire.asgi import Receive, Scope, Send
from torpor_endpoint.dashboard.dashboard_door import POLICY, Door

BROWSER = b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def answered(path: str, accept: bytes) -> tuple[str, dict[str, str]]:
    """Which application answers, and the headers of the answer."""
    sent: list[Any] = []

    def named(name: str) -> Any:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"by", name.encode())]})

        return app

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {"type": "http", "path": path, "headers": [(b"accept", accept)]}
    asyncio.run(Door(named("dashboard"), named("pages"))(scope, lambda: asyncio.sleep(0), send))  # type: ignore[arg-type,return-value]  # nobody receives
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return headers["by"], headers


@pytest.mark.parametrize(
    ("path", "accept", "by"),
    [
        ("/_torpor/", BROWSER, "dashboard"),
        ("/_torpor/", b"*/*", "pages"),
        ("/_torpor/", b"", "pages"),
        ("/_torpor/dashboard/feed", b"text/event-stream", "dashboard"),
        ("/_torpor/dashboard/static/js/main.js", b"*/*", "dashboard"),
        ("/_torpor/endpoints", BROWSER, "pages"),
        ("/_torpor/logs", BROWSER, "pages"),
    ],
)
def test_each_request_reaches_its_application(path: str, accept: bytes, by: str) -> None:
    assert answered(path, accept)[0] == by


def test_only_the_dashboard_may_run_scripts_and_only_its_own() -> None:
    policies = [answered(path, BROWSER)[1]["content-security-policy"] for path in ("/_torpor/", "/_torpor/endpoints")]
    assert policies == [POLICY, "sandbox"]
    assert "script-src 'self'" in POLICY
    assert "unsafe" not in POLICY

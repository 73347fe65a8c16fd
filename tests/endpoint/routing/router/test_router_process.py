"""What runs beside the requests of a router goes on after a fault."""

import asyncio
from typing import Any

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_account.iam.identities.ids import KeyPair
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.protocol.identities import TABLES, Identities
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.router_options import RouterOptions
from torpor_endpoint.routing.router.router_process import RouterProcess

FACTS = ControlFacts("us-east-1", "123456789012", strict=False, auth=True, storage="", sockets="", rate_limits=())
NOBODY = Identities(KeyPair("root", "secret"), dict.fromkeys(TABLES, ()), ())


class Faulty(ControlClient):
    """A control that is away while a router starts. Later each call fails as no call should."""

    def __init__(self) -> None:
        super().__init__("http://nowhere")
        self.serving = False
        self.called: list[str] = []

    async def _called(self, method: Any, page: Any, asked: Any, read: Any, further_s: float = 0.0) -> Any:
        if not self.serving:
            raise ControlAway("it starts too")
        self.called.append(page.name)
        raise RuntimeError("can't start new thread")


def test_a_fault_ends_nothing_that_a_router_does_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        control = Faulty()
        app = RouterProcess(RouterOptions(), FACTS, control, ("1", NOBODY)).app()
        began, ends = asyncio.Event(), asyncio.Event()
        wanted = [{"type": "lifespan.startup"}]

        async def receive() -> dict[str, str]:
            if not wanted:
                await ends.wait()
            return wanted.pop() if wanted else {"type": "lifespan.shutdown"}

        async def send(message: Any) -> None:
            began.set()

        life = asyncio.create_task(app({"type": "lifespan"}, receive, send))
        await began.wait()
        control.serving = True
        await asyncio.sleep(10.0)
        for page in ("TABLE", "IDENTITIES", "REPORT"):
            assert control.called.count(page) > 2
        control.serving = False
        ends.set()
        await life

    run(story())
    chores = {record.args[0] for record in caplog.records if isinstance(record.args, tuple) and len(record.args) > 1}
    assert chores == {"routing table", "identities", "reports"}

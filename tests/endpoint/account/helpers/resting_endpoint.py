"""A whole endpoint in this process, without a server, whose fleet is never started: every service answers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from torpor_account.aws.wire.asgi import App
from torpor_account.gateway import Gateway
from torpor_endpoint.chores import Chores
from torpor_endpoint.endpoint_parts import EndpointParts
from torpor_endpoint.options import Options
from torpor_endpoint.service_apps import ServiceApps
from torpor_endpoint.services.service_register import ADDRESSES


@contextmanager
def resting(folder: Path) -> Iterator[App]:
    parts = EndpointParts(Options(data_dir=folder))
    with ExitStack() as closing:
        for part in (parts.account, parts.async_queue, parts.ledger):
            closing.callback(part.close)
        services = ServiceApps(parts, Chores(parts)).by_name()
        yield Gateway(services, _no_pages, parts.options.account, ADDRESSES, parts.account.long_tail.answer)


async def _no_pages(*_: Any) -> None:
    raise AssertionError("a call of a service went to Torpor's own pages")

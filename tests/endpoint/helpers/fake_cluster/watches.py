"""A watch at a fake cluster: what has happened since a version, then what happens, until its time is over."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

from tests.endpoint.helpers.fake_cluster.objects import Objects
from tests.endpoint.helpers.fake_cluster.refusals import KINDS, Refused

BOOKMARK_S = 60.0
BEFORE_END_S = 2.0
LONGEST_S = 1800.0


async def watched(objects: Objects, resource: str, query: dict[str, str]) -> AsyncIterator[str]:
    """The events, a line each. A bookmark comes each minute and shortly before the end, if anything has happened."""
    loop = asyncio.get_running_loop()
    seen = told = int(query["resourceVersion"])
    ends_s = loop.time() + float(query.get("timeoutSeconds", LONGEST_S))
    marks_s = _next_mark(loop.time(), ends_s) if query.get("allowWatchBookmarks") == "true" else ends_s
    version, kind = KINDS[resource]
    while loop.time() < ends_s:
        change = objects.change
        try:
            happened = objects.since(seen)
        except Refused as refused:
            yield json.dumps({"type": "ERROR", "object": refused.said})
            return
        for one in happened:
            if one.resource == resource and (event := one.shown(query.get("labelSelector", ""))):
                told = int(event["object"]["metadata"]["resourceVersion"])
                yield json.dumps(event)
        seen += len(happened)
        if loop.time() >= marks_s:
            marks_s = _next_mark(loop.time(), ends_s)
            if seen > told:
                told = seen
                mark = {"apiVersion": version, "kind": kind, "metadata": {"resourceVersion": str(seen)}}
                yield json.dumps({"type": "BOOKMARK", "object": mark})
        with suppress(TimeoutError):
            async with asyncio.timeout_at(min(ends_s, marks_s)):
                await change.wait()


def _next_mark(now_s: float, ends_s: float) -> float:
    last_s = ends_s - BEFORE_END_S
    return min(now_s + BOOKMARK_S, last_s) if last_s > now_s else ends_s

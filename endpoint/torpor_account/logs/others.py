"""Lists the log groups that are not Torpor's, from moto, for listings of all groups."""

import json
from typing import Any

from torpor_account.aws.calls import Call, Otherwise, Unanswered
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.aws.wire.json_rpc import JSON_1_1

PAGE = 50
PAGES_MAX = 100

Wire = dict[str, Any]


async def groups_of_others(otherwise: Otherwise | None, call: Call, prefix: str) -> list[Wire]:
    """All of moto's groups in their wire form; none without `otherwise`."""
    if otherwise is None:
        return []
    found: list[Wire] = []
    token: str | None = None
    for _ in range(PAGES_MAX):
        members = {"logGroupNamePrefix": prefix or None, "limit": PAGE, "nextToken": token}
        page = await _page(otherwise, call, {name: value for name, value in members.items() if value is not None})
        found += page.get("logGroups", [])
        token = page.get("nextToken")
        if token is None:
            break
    return found


async def _page(otherwise: Otherwise, call: Call, members: Wire) -> Wire:
    scope = f"AWS4-HMAC-SHA256 Credential=torpor/19700101/{call.region}/logs/aws4_request"
    target = f"Logs_20140328.{call.operation}"
    headers = {"content-type": JSON_1_1, "x-amz-target": target, "authorization": scope}
    try:
        answer = await otherwise(
            "logs", call.operation, AwsRequest("POST", "/", headers, "", json.dumps(members).encode())
        )
    except Unanswered:
        return {}
    page: Wire = json.loads(answer.body) if answer.status == 200 else {}
    return page

"""Answers the page of denials, `/_torpor/denials`, as JSON."""

import asyncio
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from torpor_account.core.pages.denials import LIMIT, LIMIT_MAX, denials_page
from torpor_account.storage.denial_log import DenialLog


@dataclass(frozen=True)
class DenialPages:
    """The page. The door lets in only those who may read denials: they name the policies of others."""

    denials: DenialLog

    async def show(self, request: Request) -> Response:
        """The latest denials, or those of one request (`?id=…&limit=…`)."""
        text = request.query_params.get("limit", str(LIMIT))
        if not text.isdecimal() or not 1 <= int(text) <= LIMIT_MAX:
            raise HTTPException(400, f"limit is a number from 1 to {LIMIT_MAX}, not {text!r}")
        found = await asyncio.to_thread(self.denials.found, request.query_params.get("id"), int(text))
        return JSONResponse(denials_page(found))

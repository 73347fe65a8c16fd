"""One model that is loaded at the start: the result of a load that fails with an unforeseen error."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from tests.helpers.waiting import reached
from torpor_container.models.keeper import WaitLimits
from torpor_container.models.loader import Found, ModelLoader, Placed
from torpor_container.modes.single import Single


class Forbidden:
    """A loader that may not look."""

    async def start(self) -> None: ...

    async def recognise(self, placed: Placed) -> Found:
        raise PermissionError(13, "Permission denied", str(placed.directory))


def test_a_load_that_fails_in_any_way_is_logged_and_shown_as_the_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> str | None:
        single = Single(cast(ModelLoader, Forbidden()), tmp_path, None, "", lambda: 0.0, WaitLimits(1.0, 1.0), 1.0)
        await single.start()
        await reached(lambda: single.failure is not None)
        await single.close()
        return single.unready()

    told = asyncio.run(asyncio.wait_for(story(), 10.0))
    assert told is not None
    assert told.startswith("the model cannot be loaded: PermissionError: ")
    assert "Traceback" in caplog.text

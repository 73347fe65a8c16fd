"""One model that is loaded at the start: the result of a load that fails, and of one that a busy machine holds up."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.errors import BadInput, NotSupported, StarvedTrial
from torpor_container.invocation import Invocation
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.keeper import WaitLimits
from torpor_container.models.loader import Found, Loaded, ModelLoader, Placed
from torpor_container.modes.single_mode import Single
from torpor_container.running.runners import Runner
from torpor_container.wire import ADAPTER, ADAPTER_URL


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

    told = asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
    assert told is not None
    assert told.startswith("the model cannot be loaded: PermissionError: ")
    assert "Traceback" in caplog.text


class Plain:
    """A loader of a model that takes no adapters."""

    async def start(self) -> None: ...

    async def recognise(self, placed: Placed) -> Found:
        async def load() -> Loaded:
            return Loaded(cast(Runner, self), 1)

        return Found(1, load)


def test_an_adapter_of_a_model_that_takes_none_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        single = Single(cast(ModelLoader, Plain()), tmp_path, None, "", lambda: 0.0, WaitLimits(1.0, 1.0), 1.0)
        await single.start()
        with pytest.raises(NotSupported, match="takes no adapters"):
            await single.load_adapter(Invocation(b""), Timing(lambda: 0.0))
        await single.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


class Adapted(Plain):
    """A loader of a model that takes adapters, and has none yet."""

    async def load_adapter(self, invocation: Invocation, timing: Timing) -> None:
        raise AssertionError("no adapter is named")


@pytest.mark.parametrize("missing", [ADAPTER, ADAPTER_URL])
@pytest.mark.parametrize("empty", [False, True])
def test_an_order_to_load_an_adapter_that_names_none_is_refused(tmp_path: Path, missing: str, empty: bool) -> None:
    order = Invocation(b"")
    order.headers = [
        (name.lower().encode(), b"" if name == missing else b"s3://bucket/red")
        for name in (ADAPTER, ADAPTER_URL)
        if empty or name != missing
    ]

    async def story() -> None:
        single = Single(cast(ModelLoader, Adapted()), tmp_path, None, "", lambda: 0.0, WaitLimits(1.0, 1.0), 1.0)
        await single.start()
        with pytest.raises(BadInput, match=f"the header {missing} is missing"):
            await single.load_adapter(order, Timing(lambda: 0.0))
        await single.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


class Starved:
    """A loader on a machine that is busy for the first three trials."""

    tries = 0

    async def start(self) -> None: ...

    def unready(self) -> str | None:
        return None

    async def recognise(self, placed: Placed) -> Found:
        self.tries += 1
        if self.tries <= 3:
            raise StarvedTrial.because("model.ubj did not come to an end within 60 s")
        return Found(1, self.load)

    async def load(self) -> Loaded:
        return Loaded(cast(Runner, self), 1)


def test_a_model_whose_trials_were_starved_is_late_and_not_failed(tmp_path: Path) -> None:
    async def story() -> None:
        loader = Starved()
        single = Single(
            cast(ModelLoader, loader), tmp_path, None, "", lambda: 0.0, WaitLimits(1.0, 1.0), 1.0, starved_pause_s=0.0
        )
        await single.start()
        await reached(lambda: "busy machine" in str(single.unready()))
        await reached(lambda: single.unready() is None)
        assert (loader.tries, single.failure, single.fault()) == (4, None, None)
        await single.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))

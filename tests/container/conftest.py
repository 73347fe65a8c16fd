"""Zygotes that instances of these tests start themselves are forked; tests of zygotes start real ones."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.helpers.forked_starts.forked_zygotes import launched
from torpor_container.processes.zygote_client import OwnedZygote


@pytest.fixture(scope="module", autouse=True)
def forked_zygotes(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        if "processes" not in request.path.parts:
            patched.setattr(OwnedZygote, "start", partial(OwnedZygote.start, launch=launched))
        yield

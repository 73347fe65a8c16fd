"""What a command prints is compared: it tells no progress, however busy the machine is."""

from collections.abc import Iterator
from math import inf

import pytest

from torpor.cli import progress_bar


@pytest.fixture(scope="module", autouse=True)
def no_lines_of_progress() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(progress_bar, "LINE_EVERY_S", inf)
        yield

"""The fixtures of tests that kill the processes that they started."""

import uuid
from collections.abc import Iterator

import pytest

from tests.helpers.processes import marked
from tests.helpers.waiting import soon


@pytest.fixture(scope="module")
def mark() -> Iterator[str]:
    """A mark in the environment of every process that these tests start. None may be left.

    It is in a variable that zygotes, instances and scripts inherit, and that none of them reads.
    """
    mark = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCARF_NO_ANALYTICS", mark)
        yield mark
    assert soon(lambda: marked(mark) == []), "processes were left behind"

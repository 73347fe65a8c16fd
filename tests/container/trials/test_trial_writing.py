"""What a trial writes of a model is read only if nobody can change it any more, and its bytes show that it is sound."""

import mmap
import os
import sys
from pathlib import Path

import pytest

from torpor_container.trials.trial_writing import TrialWriting, write

if not sys.platform.startswith("linux"):
    pytest.skip("files in memory that can be sealed are Linux's", allow_module_level=True)


def is_good_word(path: Path) -> bool:
    return path.read_bytes() == b"good"


def test_what_is_sound_is_good_and_stays_as_it_is() -> None:
    writing = TrialWriting(is_good_word)
    write(writing.descriptor, b"good")
    assert writing.is_good()
    with pytest.raises(PermissionError):
        os.pwrite(writing.descriptor, b"evil", 0)
    write(writing.descriptor, b"evil")  # a second process of the same trial
    assert writing.path.read_bytes() == b"good"


@pytest.mark.parametrize("content", [b"", b"evil"])
def test_what_does_not_show_that_it_is_sound_is_not_read(content: bytes) -> None:
    writing = TrialWriting(is_good_word)
    write(writing.descriptor, content)
    assert not writing.is_good()


def test_what_the_process_could_still_change_is_not_read() -> None:
    writing = TrialWriting(is_good_word)
    write(writing.descriptor, b"good")
    with mmap.mmap(writing.descriptor, 4):
        assert not writing.is_good()


def test_it_ends_with_its_object() -> None:
    writing = TrialWriting(is_good_word)
    descriptor = writing.descriptor
    del writing
    with pytest.raises(OSError):
        os.fstat(descriptor)

"""Work that fails for lack of file descriptors is retried; any other error is raised at once."""

import asyncio
import errno

import pytest

from torpor_account.aws.descriptors import retry_for_descriptors

LACKING = (
    OSError(errno.EMFILE, "Too many open files"),
    ImportError("libx.so: cannot open shared object file: Too many open files"),
)


@pytest.mark.parametrize("lacking", LACKING)
def test_work_is_retried_until_descriptors_are_free(lacking: Exception) -> None:
    troubles = [lacking, lacking]

    def work() -> str:
        if troubles:
            raise troubles.pop()
        return "done"

    assert asyncio.run(retry_for_descriptors(work, pauses_s=(0.0, 0.0))) == "done"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), ImportError("no module x"), LACKING[0]])
def test_another_error_or_a_lasting_lack_of_descriptors_is_raised(error: Exception) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        asyncio.run(retry_for_descriptors(work, pauses_s=(0.0,)))

"""Endpoints for unittest, and for any other code: a test case, and a context manager."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar
from unittest import TestCase

from torpor.hosting.endpoint_process import NO_GUESS_S, Start
from torpor.hosting.shared_process import SharedProcess
from torpor.testing.client_environment import lead_here
from torpor.testing.movable_clock import MovableClock

TRAVELLING = Start(travelling_clock=True, warm_idle_s=NO_GUESS_S)


@contextmanager
def endpoint_process(start: Start = TRAVELLING) -> Iterator[SharedProcess]:
    """An endpoint process that answers, and for the block the variables that lead boto3 to it.

        with torpor.testing.endpoint_process() as process:
            boto3.client("s3").create_bucket(Bucket="house-prices")

    When the block ends, so do the process and its temporary data folder.
    """
    with SharedProcess(start) as process:
        process.until_ready()
        with lead_here(process.environment):
            yield process


class EndpointTestCase(TestCase):
    """A test case whose tests share one endpoint process, `self.torpor`, with the clock `self.clock`.

    Within its tests, boto3 clients without options call the endpoint. `start` has the options of the process.
    """

    start: ClassVar[Start] = TRAVELLING
    torpor: ClassVar[SharedProcess]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.torpor = cls.enterClassContext(endpoint_process(cls.start))

    @property
    def clock(self) -> MovableClock:
        """The endpoint's clock. Raises TorporError for one that does not travel."""
        return MovableClock(self.torpor.connection)

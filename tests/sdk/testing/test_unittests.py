"""Endpoints for unittest and for with-statements."""

import os
import unittest

import boto3
import pytest

from torpor.errors import EndpointUnreachable
from torpor.testing import EndpointTestCase, endpoint_process


def test_a_block_leads_boto3_to_a_process_that_ends_with_it() -> None:
    before = dict(os.environ)
    with endpoint_process() as process:
        boto3.client("s3").create_bucket(Bucket="of-the-block")
        assert (process.data_dir / "s3" / "of-the-block").is_dir()
    assert dict(os.environ) == before
    assert not process.data_dir.exists()
    with pytest.raises(EndpointUnreachable):
        process.connection.page("health")


def test_the_tests_of_a_case_share_a_process_and_its_clock() -> None:
    urls: list[tuple[str, str]] = []
    moved: list[bool] = []

    class Case(EndpointTestCase):
        def test_first(self) -> None:
            urls.append((self.torpor.url, boto3.client("s3").meta.endpoint_url))
            moved.append(self.clock.now < self.clock.advance(hours=1))

        def test_second(self) -> None:
            urls.append((self.torpor.url, boto3.client("s3").meta.endpoint_url))

    outcome = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(outcome)
    assert (outcome.testsRun, outcome.errors, outcome.failures) == (2, [], [])
    assert moved == [True]
    assert len({*urls[0], *urls[1]}) == 1

"""The pytest plugin: one endpoint process for a whole test session, which starts when a test first asks for it.

Every pytest run in the environment loads this module, so it imports nothing but pytest.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from torpor.hosting.serving import SharedProcess


@pytest.fixture(scope="session")
def torpor_endpoint() -> "Iterator[SharedProcess]":
    """An endpoint process on a free port, with no SageMaker endpoint, model or bucket in it yet.

        def test_a_model(torpor_endpoint):
            with torpor_endpoint.local("./models", name="houses") as endpoint:      # as `torpor.local`, on this process
                endpoint.invoke("Houston_TX.tar.gz", [[1995, 2100, 3, 2, 0.3, 2]])

        def test_the_api(torpor_endpoint):
            sagemaker = torpor_endpoint.client("sagemaker")      # any boto3 client, connected to it
            folder = torpor_endpoint.bucket_folder("models")     # a bucket is a folder: copy artifacts into it
            torpor_endpoint.url, torpor_endpoint.environment     # the URL, and the AWS_* variables for other processes

    The data folder is temporary. When the session ends, or is killed, the process ends with it.
    """
    from torpor.hosting.serving import SharedProcess

    with SharedProcess() as process:
        yield process.until_ready()

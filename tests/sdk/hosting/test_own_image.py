"""`torpor.local` over a container of one's own, also after its image is no longer known."""

import sys
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.cli import app
from torpor.hosting.endpoint_process import ChildEndpoint, Start

# Torpor's own container, under another name: driven over SageMaker's contract, as any other.
IMAGES = f"""
[[image]]
match = "own:*"
command = ["{sys.executable}", "-m", "torpor_container", "serve"]
environment = {{ SAGEMAKER_BIND_TO_PORT = "{{port}}" }}
"""


@pytest.fixture
def images(tmp_path: Path) -> Path:
    path = tmp_path / "images.toml"
    path.write_text(IMAGES)
    return path


@pytest.fixture
def kept(models: Path, images: Path, tmp_path: Path) -> Path:
    """A data folder with an endpoint of such an image in service."""
    folder = tmp_path / "kept"
    with torpor.local(models, name="own", image="own:1", images=images, data_dir=folder) as endpoint:
        assert len(endpoint.invoke(CITIES[0], ROWS)) == len(ROWS)
    return folder


def call(process: ChildEndpoint) -> bytes:
    members = {"EndpointName": "own", "TargetModel": CITIES[0], "ContentType": "text/csv", "Body": "1,2,3,4"}
    answer: bytes = process.client("sagemaker-runtime").invoke_endpoint(**members)["Body"].read()
    return answer


@pytest.mark.thorough
def test_a_call_to_an_unknown_image_gets_the_reason_until_the_image_is_known_again(kept: Path, images: Path) -> None:
    with ChildEndpoint(Start(kept)) as forgetful:
        with pytest.raises(ClientError, match=r"ValidationError.*own:1 .* is not one that this endpoint can run"):
            call(forgetful.until_ready())
        shown = CliRunner().invoke(app, ["ls", "--url", forgetful.url]).stdout
        assert shown.startswith("own  InService, but not served: The image own:1 ")
        assert "Traceback" not in forgetful.output()
    with ChildEndpoint(Start(kept, images=images)) as knowing:
        assert call(knowing.until_ready())


def test_a_bad_file_of_images_is_refused_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(torpor.EndpointFailed, match=r"--images: .*nowhere\.toml") as caught:
        torpor.local(images=tmp_path / "nowhere.toml")
    assert "Traceback" not in str(caught.value)


@pytest.mark.thorough
def test_an_image_of_another_registry_is_served_by_the_built_in_container_if_that_is_wanted(models: Path) -> None:
    image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/houses:7"
    with torpor.local(models, image=image, unknown_images="built-in") as endpoint:
        assert len(endpoint.invoke(CITIES[0], ROWS)) == len(ROWS)
    with pytest.raises(torpor.EndpointFailed, match=r"nothing is pulled.*--unknown-images built-in"):
        torpor.local(models, image=image).close()

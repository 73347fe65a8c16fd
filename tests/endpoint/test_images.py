"""Which images the built-in container stands in for."""

import pytest

from torpor_endpoint.images import ContainerKind, container_kind

AWS = "683313688378.dkr.ecr.us-east-1.amazonaws.com"


@pytest.mark.parametrize(
    "image",
    [
        "torpor",
        "torpor:latest",
        f"{AWS}/sagemaker-xgboost:1.7-1",
        f"{AWS}/sagemaker-xgboost@sha256:0f",
        "811284229777.dkr.ecr.us-east-1.amazonaws.com/xgboost:latest",
        f"{AWS}/sagemaker-scikit-learn:1.2-1-cpu-py3",
    ],
)
def test_these_images_are_served_by_the_built_in_container(image: str) -> None:
    assert container_kind(image) is ContainerKind.BUILT_IN


@pytest.mark.parametrize("image", ["torporific", "nginx", f"{AWS}/pytorch-inference:2.2", f"{AWS}/my-xgboost:1"])
def test_other_images_are_unknown(image: str) -> None:
    assert container_kind(image) is None


def test_a_user_may_name_more() -> None:
    assert container_kind("my/scorer:3", {"my/scorer:*": ContainerKind.BUILT_IN}) is ContainerKind.BUILT_IN

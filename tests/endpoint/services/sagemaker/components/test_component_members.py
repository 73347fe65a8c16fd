"""Every member of inference components that has no effect or is refused is named in the documentation."""

import pytest

from torpor_endpoint.services.sagemaker.components.differences import DIFFERENCES, WITHOUT_EFFECT
from torpor_endpoint.services.sagemaker.members.known import KNOWN, Treatment

OF_COMPONENTS = {name: known for name, known in KNOWN.items() if "InferenceComponent" in name}


@pytest.mark.parametrize("shape", OF_COMPONENTS)
def test_what_is_kept_or_refused_stands_in_the_differences(shape: str) -> None:
    for member, treatment in OF_COMPONENTS[shape].items():
        if treatment in (Treatment.KEPT, Treatment.REFUSED):
            assert member in DIFFERENCES["CreateInferenceComponent"]


def test_members_without_effect_are_listed_by_their_paths() -> None:
    assert set(WITHOUT_EFFECT["CreateInferenceComponent"]) >= {
        "Specification.DataCacheConfig",
        "Specification.Container.ContainerMetricsConfig",
        "Specifications.SchedulingConfig.AvailabilityZoneBalance",
    }

"""Every member of inference components that has no effect or is refused is named in the documentation."""

import pytest

from tests.endpoint.services.helpers.components_plane import ComponentsPlane, specification
from torpor_endpoint.services.sagemaker.components.differences import DIFFERENCES, WHY_KEPT, WITHOUT_EFFECT
from torpor_endpoint.services.sagemaker.members.known import KNOWN, Treatment

OF_COMPONENTS = {name: known for name, known in KNOWN.items() if "InferenceComponent" in name}


@pytest.mark.parametrize("shape", OF_COMPONENTS)
def test_what_is_kept_or_refused_stands_in_the_differences(shape: str) -> None:
    for member, treatment in OF_COMPONENTS[shape].items():
        if treatment in (Treatment.KEPT, Treatment.REFUSED):
            assert member in DIFFERENCES["CreateInferenceComponent"]


def test_each_member_without_effect_has_a_reason() -> None:
    treatments = (row for known in OF_COMPONENTS.values() for row in known.items())
    kept = {member for member, treatment in treatments if treatment is Treatment.KEPT}
    assert kept == WHY_KEPT.keys()


def test_a_request_with_such_a_member_is_logged_with_the_reason(
    plane: ComponentsPlane, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    scheduling = {"AvailabilityZoneBalance": {"EnforcementMode": "PERMISSIVE", "MaxImbalance": 2}}
    plane("CreateInferenceComponent", **plane.wanted(Specification=specification(SchedulingConfig=scheduling)))
    (line,) = (one for one in caplog.messages if "has no effect" in one)
    assert "ic: Specification.SchedulingConfig.AvailabilityZoneBalance has no effect." in line
    assert WHY_KEPT["AvailabilityZoneBalance"] in line


def test_members_without_effect_are_listed_by_their_paths() -> None:
    assert set(WITHOUT_EFFECT["CreateInferenceComponent"]) >= {
        "Specification.DataCacheConfig",
        "Specification.Container.ContainerMetricsConfig",
        "Specifications.SchedulingConfig.AvailabilityZoneBalance",
    }

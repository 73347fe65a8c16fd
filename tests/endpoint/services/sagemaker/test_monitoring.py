"""ListMonitoringSchedules, for clients that look for schedules before they delete an endpoint."""

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane


def test_no_endpoint_has_monitoring_schedules(control_plane: InMemoryControlPlane) -> None:
    listed = control_plane("ListMonitoringSchedules", EndpointName="any")
    assert listed == {"MonitoringScheduleSummaries": [], "NextToken": None}


def test_a_token_that_no_list_gave_is_refused(control_plane: InMemoryControlPlane) -> None:
    assert "NextToken" in control_plane.refusal("ListMonitoringSchedules", NextToken="any")[2]

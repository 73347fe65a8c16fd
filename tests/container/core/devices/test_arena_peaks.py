"""When an arena shrinks."""

from torpor_container.core.devices.arena_peaks import ArenaPeaks


def test_requests_of_the_usual_size_leave_the_arena_as_it_is() -> None:
    peaks = ArenaPeaks()
    assert not any(peaks.is_peak(size) for size in (100, 120, 90, 300, 110))


def test_the_first_request_is_no_peak_since_nothing_is_usual_yet() -> None:
    assert not ArenaPeaks().is_peak(1e9)


def test_a_far_larger_request_is_a_peak_each_time_until_such_are_usual() -> None:
    peaks = ArenaPeaks()
    peaks.is_peak(100)
    found = [peaks.is_peak(1000) for _ in range(20)]
    assert (found[0], found[-1]) == (True, False)
    assert found == sorted(found, reverse=True), "once they are usual they stay so"

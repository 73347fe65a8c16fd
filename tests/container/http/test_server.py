"""The resources of its process that a server may use."""

import resource

from torpor_container.http.server import SPARE_MIN, SPARE_SHARE, allowed_connections


def test_some_descriptors_are_not_for_connections() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert SPARE_MIN <= limit - allowed_connections() == max(limit // SPARE_SHARE, SPARE_MIN)

"""What `torpor certificates` says of the deployment's certificates."""

import pytest

from torpor.cli.commands.reports.certificates import lines
from torpor_endpoint.core.pages.deployment.peer_certificates import PeerCertificates, ShownAuthority


@pytest.mark.parametrize(
    ("untaken", "said"),
    [
        (1, ["not heard of yet by 1 instance: asked again within eight hours"]),
        (2, ["not heard of yet by 2 instances: asked again within eight hours"]),
        (0, []),
    ],
)
def test_it_says_how_many_instances_have_not_heard_of_a_change(untaken: int, said: list[str]) -> None:
    assert lines(PeerCertificates((ShownAuthority(0.0, signs=True),), {}, 0.0, untaken))[2:] == said

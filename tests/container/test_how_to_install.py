"""What a message says about a part of Torpor that is not installed."""

import json

import pytest

from torpor_container import how_to_install
from torpor_container.trees import walking


@pytest.mark.parametrize(
    ("origin", "editable"),
    [
        (json.dumps({"url": "file:///checkout", "dir_info": {"editable": True}}), True),
        (json.dumps({"url": "file:///checkout", "dir_info": {}}), False),
        (json.dumps({"url": "file:///torpor-0.1.0-py3-none-any.whl", "archive_info": {}}), False),
        (None, False),
    ],
)
def test_where_torpor_was_installed_from(origin: str | None, editable: bool) -> None:
    assert how_to_install.is_editable(origin) is editable


def test_what_a_lack_of_the_extension_means_is_told_where_it_lacks() -> None:
    assert ("without a C compiler" in how_to_install.lacks_flat_trees()) == (walking.extension() is None)


def test_a_wheel_has_no_checkout_to_install_from() -> None:
    assert how_to_install.how_to_install("cli", checkout=False) == "run: pip install 'torpor[cli]'"

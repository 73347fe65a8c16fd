"""What a real client is told of an endpoint: environment variables, and nothing else."""

import os

import pytest
from live import LiveEndpoint

ASKED = os.environ.get("TORPOR_CLIENTS", "").split(",")


def only_if_asked(client: str, command: str) -> pytest.MarkDecorator:
    """For a client that is too large for the default run: TORPOR_CLIENTS names it, and `command` sets it up first."""
    return pytest.mark.skipif(client not in ASKED, reason=f"{client} is not part of the default run: `{command}`")


def variables(live: LiveEndpoint) -> dict[str, str]:
    """The whole environment: whatever this machine knows of another AWS is left out."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **others,
        "AWS_ENDPOINT_URL": live.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }

"""The environment of a real client: the variables that `torpor env` prints, and nothing else."""

import os
import shlex

import pytest
from typer.testing import CliRunner

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from torpor.cli import app

ASKED = os.environ.get("TORPOR_CLIENTS", "").split(",")


def only_if_asked(client: str, command: str) -> pytest.MarkDecorator:
    """For a client that is too large for the default run: TORPOR_CLIENTS names it, and `command` sets it up first."""
    return pytest.mark.skipif(client not in ASKED, reason=f"{client} is not part of the default run: `{command}`")


def variables(live: LiveEndpoint) -> dict[str, str]:
    """The whole environment: whatever this machine knows of another AWS is left out."""
    printed = CliRunner().invoke(app, ["env", "--url", live.url, "--data-dir", str(live.data_dir)]).stdout
    told = dict(word.split("=", 1) for word in shlex.split(printed) if word != "export")
    others = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **others,
        **told,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }

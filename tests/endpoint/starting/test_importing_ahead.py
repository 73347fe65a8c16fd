"""What a standby imports while it waits, so that its start is short once it has the lease."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from torpor_endpoint.options import Options
from torpor_endpoint.starting.importing_ahead import NEEDED, needed_modules

LATER = """
import sys
from torpor_endpoint.options import Options
import torpor_endpoint.endpoint_parts
from torpor_endpoint.starting.importing_ahead import import_ahead
import_ahead(Options(database="postgresql://db/torpor", s3_endpoint="http://s3", standby=True))
print("boto3" in sys.modules, "psycopg" in sys.modules, "torpor_endpoint.host.kubernetes.host_start" in sys.modules)
"""


@pytest.mark.parametrize("module", NEEDED)
def test_each_module_is_there(module: str) -> None:
    assert find_spec(module) is not None


def test_an_option_brings_its_modules_and_no_others() -> None:
    usual = needed_modules(Options())
    remote = needed_modules(Options(s3_endpoint="http://s3"))
    assert set(remote) - set(usual) == {"torpor_account.s3.access.remote"}
    assert not any("ray" in module or "kubernetes" in module or "iam" in module for module in remote)
    elsewhere = needed_modules(Options(instances_on="kubernetes", auth=True))
    assert {"torpor_endpoint.host.kubernetes.host_start", "torpor_account.iam.identities.directory"} < set(elsewhere)


def test_what_is_slow_to_import_is_there_before_the_wait() -> None:
    pytest.importorskip("psycopg")
    said = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["True", "True", "False"]

"""The file that makes images, as far as it can be read without an engine."""

import re
import tomllib

import pytest
import yaml

from tests.markdown import ROOT
from torpor_endpoint.__main__ import option_parser
from torpor_endpoint.options import Options
from torpor_endpoint.starting.endpoint_checks import CHECKS

DOCKERFILE = (ROOT / "Dockerfile").read_text()
STAGES = {
    match[2]: match[3] for match in re.finditer(r"^FROM (\S+) AS (\S+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.M | re.S)
}


def test_a_build_without_a_target_makes_the_instance_as_sagemaker_wants_it() -> None:
    last = STAGES["instance"]
    assert list(STAGES)[-1] == "instance"
    assert "com.amazonaws.sagemaker.capabilities.multi-models=true" in last
    assert "com.amazonaws.sagemaker.capabilities.accept-bind-to-port=true" in last
    assert 'ENTRYPOINT ["torpor-container"]\nCMD ["serve"]' in last


@pytest.mark.parametrize("name", ["endpoint", "instance"])
def test_an_image_runs_as_nobody_in_particular_and_says_whether_it_is_well(name: str) -> None:
    assert "USER 65532:65532" in STAGES[name]
    assert "HEALTHCHECK" in STAGES[name]


def test_what_is_copied_is_there_and_not_left_out_of_the_build() -> None:
    left_out = (ROOT / ".dockerignore").read_text().split()
    lines = re.findall(r"^COPY (?!--from)(?:--\S+ )*(.*)$", DOCKERFILE, re.M)
    assert lines
    for line in lines:
        *sources, _ = line.split()
        assert [name for name in sources if not (ROOT / name).exists() or name in left_out] == []


def test_the_parts_that_are_installed_are_parts() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = [part for parts in re.findall(r'"\.\[(.*?)\]"', DOCKERFILE) for part in parts.split(",")]
    assert {"container", "endpoint", "kubernetes", "postgresql"} <= set(installed) <= set(known)


def refused(arguments: list[str]) -> list[str]:
    options = Options(**vars(option_parser().parse_args(arguments)))
    return [flag for flag, good, _ in CHECKS if not good(options)]


def test_the_endpoint_takes_the_options_of_its_image() -> None:
    ours = re.search(r"CMD (\[.*?\])\n", STAGES["endpoint"].partition("ENTRYPOINT")[2])
    assert ours is not None
    assert refused(yaml.safe_load(ours[1])) == []

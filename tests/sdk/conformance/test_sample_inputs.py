"""Bodies that grow, and artifacts as SageMaker lays them out."""

import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.conformance.sample_inputs import CSV, Sample, model_id, unpacked


@given(lines=st.integers(1, 5), size=st.integers(1, 5000), is_ended=st.booleans())
def test_a_body_of_lines_grows_by_whole_samples_up_to_the_size(lines: int, size: int, is_ended: bool) -> None:
    body = b"1,2\n" * lines
    grown = Sample(CSV, body if is_ended else body[:-1]).grown(size).body
    assert grown.startswith(body)
    assert len(grown) % len(body) == 0
    assert size - len(body) < len(grown) <= max(size, len(body))


@pytest.mark.parametrize("content_type", ["application/json", "application/x-npy"])
def test_any_other_body_grows_by_what_follows_it(content_type: str) -> None:
    grown = Sample(content_type, b"[1]").grown(100)
    assert (grown.body[:3], len(grown.body), grown.content_type) == (b"[1]", 100, content_type)


def test_white_space_is_what_json_grows_by() -> None:
    assert Sample("application/json; charset=utf-8", b"[1]").grown(100).body.strip() == b"[1]"


def test_a_models_id_is_opaque_and_one_segment_of_a_path() -> None:
    seeds = ["", "a", "a/b.tar.gz", "ü 1"]
    assert len({model_id(seed) for seed in seeds}) == len(seeds)
    assert set("".join(map(model_id, seeds))) <= set("0123456789abcdef")


def test_an_archive_is_unpacked_where_sagemaker_would_have_it(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("1")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "weights", "weights")
    artifact = unpacked("a.tar.gz", tmp_path / "a.tar.gz", tmp_path / "models")
    assert (artifact.folder / "weights").read_text() == "1"
    assert artifact.folder.relative_to(tmp_path / "models").parts[1:] == ("model",)


def test_a_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    assert unpacked("a", tmp_path, tmp_path / "models").folder == tmp_path
    assert not (tmp_path / "models").exists()

"""Containers of a pipeline from a CSV file; one that cannot be is refused by its row and column."""

from pathlib import Path

import pytest

from torpor.simulator.fitting.container_files import read_containers
from torpor.workloads import BadTrace
from torpor.workloads.profile import ContainerProfile

HEADER = "container,memory_bytes,predict_s,predict_sigma,threads,models\n"


def read(folder: Path, text: str) -> tuple[ContainerProfile, ...]:
    (folder / "pipeline.csv").write_text(text)
    return read_containers(folder / "pipeline.csv")


def test_the_rows_are_the_containers_in_their_order(tmp_path: Path) -> None:
    found = read(tmp_path, f"{HEADER}clean,2e8,0.004,0.3,2,\nhouses,,,,,true\nrank, 5000 ,0.5,,,no\n")
    assert found == (
        ContainerProfile("clean", 200_000_000, 0.004, predict_sigma=0.3, threads=2),
        ContainerProfile("houses", models=True),
        ContainerProfile("rank", 5000, 0.5),
    )
    assert isinstance(found[0].memory_bytes, int)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("container,size\n", "column 'size' is unknown: the columns are container, memory_bytes"),
        ("container,models,models\n", "two columns models"),
        ("predict_s,models\n", "has no column container"),
        (HEADER, "has no containers: write a row for each"),
        (f"{HEADER}clean,1\n", "row 1 has 2 columns, and the header 6"),
        (f"{HEADER},1,,,,\n", "row 1: container is empty"),
        (f"{HEADER}clean,much,,,,\n", "row 1: memory_bytes 'much' is not a number"),
        (f"{HEADER}clean,,,,,perhaps\n", "row 1: models is true or false, not 'perhaps'"),
        (f"{HEADER}clean,,-1,,,\nb,,,,,1\n", "containers: 'clean': predict_s is 0 or more, not -1"),
        (f"{HEADER}clean,,1,,,\nb,,,,,\n", r"exactly one of them has the models \(models\), not 0"),
        (f"{HEADER}houses,,,,,1\n", "a pipeline has two containers or more"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadTrace, match=said):
        read(tmp_path, text)

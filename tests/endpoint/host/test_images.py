"""The images that the built-in container stands in for, and the file that names others."""

import re
import tomllib
from pathlib import Path

import pytest

from torpor_endpoint.host.images import BadImages, Image, Images, family

AWS = "683313688378.dkr.ecr.us-east-1.amazonaws.com"


@pytest.mark.parametrize(
    "image",
    [
        "torpor",
        "torpor:latest",
        f"{AWS}/sagemaker-xgboost:1.7-1",
        f"{AWS}/sagemaker-xgboost@sha256:0f",
        "811284229777.dkr.ecr.us-east-1.amazonaws.com/xgboost:latest",
        f"{AWS}/sagemaker-scikit-learn:1.2-1-cpu-py3",
    ],
)
def test_these_images_are_served_by_the_built_in_container(image: str) -> None:
    found = Images().find(image)
    assert found is not None
    assert found.command is None


@pytest.mark.parametrize(
    ("image", "told"),
    [
        (f"{AWS}/sagemaker-xgboost:1.7-1", "xgboost"),
        (f"{AWS}/sagemaker-xgboost@sha256:0f", "xgboost"),
        ("localhost:5000/xgboost", "xgboost"),
        (f"{AWS}/sagemaker-scikit-learn:1.2-1-cpu-py3", "scikit-learn"),
        ("torpor", ""),
        (f"{AWS}/my-xgboost:1", ""),
    ],
)
def test_an_image_name_gives_the_family_of_awss_images(image: str, told: str) -> None:
    assert family(image) == told


@pytest.mark.parametrize("image", ["torporific", "nginx", f"{AWS}/pytorch-inference:2.2", f"{AWS}/my-xgboost:1"])
def test_other_images_are_unknown(image: str) -> None:
    assert Images().find(image) is None


def test_a_file_names_more_and_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "images.toml"
    file.write_text("""
        [[image]]
        match = "*/sagemaker-xgboost:*"
        command = ["my-server", "--port", "{port}"]
        ready = ["/ping"]
        environment = { MY_HOME = "{base_dir}" }
    """)
    images = Images.read(file)
    command = {"command": ["my-server", "--port", "{port}"], "ready": ["/ping"]}
    environment = {"environment": {"MY_HOME": "{base_dir}"}}
    assert images.find(f"{AWS}/sagemaker-xgboost:1.7-1") == Image("*/sagemaker-xgboost:*", command | environment)  # type: ignore[arg-type]
    assert images.find("torpor") == Image("torpor")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[image]]\nmatch = 'a'", "image 1: command must be a list of texts, the program first"),
        ("[[image]]\ncommand = ['a']", "image 1: match must be a string"),
        ("[[image]]\nmatch = 'a'\ncommand = 'a b'", "image 1: command must be a list of texts"),
        ("[[image]]\nmatch = 'a'\ncommand = ['a']\nready = [1]", "image 1: ready must be a list of texts"),
        (
            "[[image]]\nmatch = 'a'\ncommand = ['a']\nenvironment = {A = 1}",
            "image 1: environment must be an object whose",
        ),
        (
            "[[image]]\nmatch = 'a'\ncommand = ['a']\ncmd = 'b'",
            "image 1: cmd is not known: choose of match, as, command",
        ),
        ("[[image]]\nmatch = 'a'\ncommand = ['a']\nopt_ml = 'yes'", "image 1: opt_ml must be true or false"),
        ("[[image]]\nmatch = 'a'\nas = 'nginx'", 'image 1: as must be "built-in", or an image that'),
        ("[[image]]\nmatch = 'a'\nas = 5", "image 1: as must be"),
        ("[[image]]\nmatch = 'a'\nas = 'built-in'\nfiles = {}", "image 1: as and files exclude each other"),
        ("[image]\nmatch = 'a'", r"must hold \[\[image\]\] tables"),
        ("[[images]]\nmatch = 'a'", r"must hold \[\[image\]\] tables"),
        ("no toml", "images.toml"),
        ("[[image]]\nmatch = 5\ncommand = ['a']", "image 1: match must be a string"),
        ("[[image]]\nmatch = 'a'\ncommand = 7", "image 1: command must be a list of texts"),
        ("[[image]]\nmatch = 'a'\ncommand = ['a']\nready = []", "image 1: ready must name at least one path"),
        (
            "[[image]]\nmatch = 'a'\ncommand = ['a']\nfiles = {'../x' = ''}",
            "image 1: files: '../x' must be a path below",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_row_and_member(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "images.toml").write_text(text)
    with pytest.raises(BadImages, match=complaint):
        Images.read(tmp_path / "images.toml")


def test_a_program_with_a_slash_is_found_from_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "images.toml").write_text("[[image]]\nmatch = 'a'\ncommand = ['./serve', 'x']")
    found = Images.read(tmp_path / "images.toml").find("a")
    assert found is not None
    assert found.command == {"command": [str(tmp_path / "serve"), "x"]}


def test_a_row_lets_the_built_in_container_stand_in_for_an_image(tmp_path: Path) -> None:
    (tmp_path / "images.toml").write_text("""
        [[image]]
        match = "*.dkr.ecr.*.amazonaws.com/my-xgb:*"
        as = "sagemaker-xgboost:1.7-1"
        [[image]]
        match = "*/my-*"
        as = "built-in"
    """)
    images = Images.read(tmp_path / "images.toml")
    assert images.conventions_of(f"{AWS}/my-xgb:4") == "sagemaker-xgboost:1.7-1"
    assert images.conventions_of(f"{AWS}/my-other:4") == "torpor"
    assert images.conventions_of(f"{AWS}/sagemaker-xgboost:1.5-1") == f"{AWS}/sagemaker-xgboost:1.5-1"
    found = [images.find(f"{AWS}/{name}:4") for name in ("my-xgb", "my-other")]
    assert [image.command for image in found if image is not None] == [None, None]
    assert images.find(f"{AWS}/another:1") is None


def test_every_image_that_nothing_else_is_known_of_may_be_served_by_the_built_in_container() -> None:
    images = Images(unknown="built-in")
    assert images.find("registry.example/x@sha256:0f") == Image("*", stands_for="torpor")
    assert images.conventions_of(f"{AWS}/sagemaker-scikit-learn:1") == f"{AWS}/sagemaker-scikit-learn:1"


def test_the_page_of_images_shows_the_example_that_is_tested() -> None:
    """With Multi Model Server itself, in test_multi_model_server."""
    root = Path(__file__).parents[3]
    example = tomllib.loads((root / "examples/images/multi-model-server.toml").read_text())
    shown = re.findall(r"```toml\n(.*?)```", (root / "docs/how-to/bring-a-container.md").read_text(), re.DOTALL)
    assert [tomllib.loads(text) for text in shown if "multi-model-server" in text] == [example]


def test_the_error_of_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(BadImages, match=r"none\.toml"):
        Images.read(tmp_path / "none.toml")

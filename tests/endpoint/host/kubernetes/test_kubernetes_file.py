"""The file of `--kubernetes-file`."""

from pathlib import Path

import pytest

from torpor_endpoint.host.kubernetes import kubernetes_file as module
from torpor_endpoint.host.kubernetes.kubernetes_file import BadKubernetesFile, KubernetesSettings


def read(folder: Path, text: str) -> KubernetesSettings:
    path = folder / "kubernetes.toml"
    path.write_text(text)
    return KubernetesSettings.read(path)


def test_the_file_of_the_modules_text_is_a_good_one(tmp_path: Path) -> None:
    assert module.__doc__ is not None
    found = read(tmp_path, module.__doc__.partition(".\n\n")[2])
    assert (found.namespace, found.owner, found.pull_secrets) == ("models", "ConfigMap/torpor", ("my-registry",))


BAD = {
    "": "image must be given",
    "image = ": "Invalid value",
    'image = "i"\nimages = "j"': "images is not known: choose of image, namespace",
    "image = 3": "image must be the name of an image",
    'image = "i"\nnamespace = "Models"': "namespace must be the name of a namespace",
    'image = "i"\nowner = "Secret/torpor"': "owner must be kind/name, with one of the kinds ConfigMap",
    'image = "i"\npull_policy = "Sometimes"': "pull_policy must be one of Always",
    'image = "i"\nuser = 0': "instances do not run as root",
    'image = "i"\nmemory_room_mib = true': "memory_room_mib must be a whole number",
    'image = "i"\ntolerations = ["all"]': "tolerations must be a list of tables",
}


@pytest.mark.parametrize(("text", "complaint"), BAD.items())
def test_a_bad_file_is_refused_by_its_member(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadKubernetesFile, match=complaint):
        read(tmp_path, text)


def test_no_file_is_refused_by_what_it_must_name() -> None:
    with pytest.raises(BadKubernetesFile, match='image = "registry/name:tag"'):
        KubernetesSettings.read(None)

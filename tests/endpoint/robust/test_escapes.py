"""Scripts that prepare their own next load, on a live endpoint: it runs what was uploaded, in its box, and no more.

Each script does its harm when it is called, and is unloaded. Its next load must find the script that was uploaded.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put, script
from tests.helpers.ordinary_user import USER, as_ordinary_user
from tests.helpers.waiting import soon
from torpor_container.isolation.abilities import found

pytestmark = pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))

SOURCE = """
import ctypes, glob, os, shutil, subprocess, sys, time
TOUCH = "import os; os.system('touch {outside}/escaped')"
class Escaped:
    def __reduce__(self):
        return exec, (TOUCH,)
def model_fn(model_dir):
    return model_dir
def transform_fn(here, body, content_type, accept):
    if body == b"harm":
        harm(here)
    return "as uploaded", "text/plain"
def pickled(path):
    import pickle
    open(path, "wb").write(pickle.dumps(Escaped()))
def replace(folder):
    "The script is gone, and a pickle is there."
    for name in ("code", "inference.py"):
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    pickled(os.path.join(folder, "m.pkl"))
def call(name, *arguments):
    return ctypes.CDLL(None, use_errno=True)[name](*arguments)
def harm(here):
    data = "{data}"
    neighbour = next(iter(glob.glob(data + "/**/model.json", recursive=True)), data + "/model.json")
"""
HARMS: Mapping[str, str] = {
    "a pickle in the place of its script": "replace('.')",
    "by its absolute path": "replace(here)",
    "by the root of its process": "replace('/proc/self/root' + here)",
    "by its working directory": "replace('/proc/self/cwd')",
    "by a program": "subprocess.run(['sh', '-c', 'rm -r code; echo x > m.pkl'])",
    "by a process that stays": "os.fork() or [time.sleep(0.2), replace(here), time.sleep(600)]",
    "a link to a neighbour": "shutil.rmtree('code'); os.symlink(neighbour, 'model.json')",
    "a hard link to a neighbour": "shutil.rmtree('code'); os.link(neighbour, 'model.json')",
    "a link in its folder's place": "os.rename(here, 'x'); os.symlink(os.path.dirname(neighbour), here)",
    "its folder moved": "os.rename(here, here + '-away')",
    "its record": "open(os.path.join(here, '..', 'artifact.json'), 'w').write('{}')",
    "its verdict": "open(os.path.join(here, '..', 'trial.json'), 'w').write('{}')",
    "a neighbour's model": "open(neighbour, 'wb').write(b'{}')",
    "a neighbour's folder": "shutil.rmtree(os.path.dirname(neighbour))",
    "compiled code": "[pickled(path) for path in glob.glob(here + '/**/*', recursive=True) if os.path.isfile(path)]",
    "code compiled for it": "[pickled(path) for path in glob.glob(data + '/**/compiled/**/*.pyc', recursive=True)]",
    "what lies below its view": "call('umount2', here.encode(), 2); replace(here)",
    "another view": "call('unshare', 0x20000); call('umount2', here.encode(), 2); replace(here)",
    "the view of another process": "call('setns', os.open('/proc/1/ns/mnt', 0), 0); replace(here)",
    "the layer of its changes": "[replace(path) for path in glob.glob(data + '/**/scratch-*/model', recursive=True)]",
    "the store": "[os.remove(path) for path in glob.glob(data + '/s3/**/*.tar.gz', recursive=True)]",
    "a module of the next load": "open('/tmp/sitecustomize.py', 'w').write(TOUCH)",
    "a module beside its script": "open('code/json.py', 'w').write(TOUCH)",
}  # fmt: skip


@dataclass(frozen=True)
class Attacked:
    """A live endpoint with hostile scripts, and a folder in which nothing may appear."""

    live: LiveEndpoint
    outside: Path

    def told(self, model: str, body: bytes = b"") -> str:
        """The answer of a model, or its error."""
        try:
            content_type = "text/csv" if model == "neighbour" else "text/plain"
            return str(self.live.invoke("Attacked", body, content_type, TargetModel=f"{model}.tar.gz")["Body"].decode())
        except self.live.runtime.exceptions.ModelError as error:
            return str(error)

    def unloaded(self) -> bool:
        return all(
            not container["models"]
            for instance in self.live.shown("Attacked")[0]["instances"]
            for container in instance["containers"]
        )


USERS = ("root",)
LATER = ("an ordinary user, whole boxes", "an ordinary user", "root, whole boxes")


@pytest.fixture(
    scope="module", params=[*USERS, *(pytest.param(who, marks=pytest.mark.thorough, id=who) for who in LATER)]
)
def attacked(request: pytest.FixtureRequest) -> Iterator[Attacked]:
    """As the tests' own user, who may be root, or as an ordinary one, whom pytest's own folders shut out."""
    with TemporaryDirectory() as folder:
        yield from attacked_in(Path(folder), request)


def attacked_in(folder: Path, request: pytest.FixtureRequest) -> Iterator[Attacked]:
    who, _, whole = request.param.partition(", ")
    if who != "root" and os.getuid():
        pytest.skip("these tests run as an ordinary user anyway")
    outside, data = folder / "outside", folder / "data"
    for made in (outside, data):
        made.mkdir()
    outside.chmod(0o777)
    options = ("--require-isolation",) if whole else ()
    live = LiveEndpoint(data, *options, launched=as_ordinary_user if who != "root" else lambda *command: [*command])
    places = {"{outside}": str(outside), "{data}": str(data)}
    artifacts = {"neighbour": packed({"model.json": booster()})}
    for number, harm in enumerate(HARMS.values()):
        source = f"{SOURCE}    {harm}\n"
        for name, place in places.items():
            source = source.replace(name, place)
        artifacts[str(number)] = script(source)
    put(live.folder("attacked"), {f"{name}.tar.gz": artifact for name, artifact in artifacts.items()})
    if who != "root":
        folder.chmod(0o755)
        for path in [data, *data.rglob("*")]:
            shutil.chown(path, USER, USER)
    with live:
        settings = {"TORPOR_MODEL_IDLE_SECONDS": "1"}
        container = {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://attacked", "Environment": settings}
        live.deploy("Attacked", Variant(container))
        yield Attacked(live, outside)


def test_the_next_load_of_a_script_is_what_was_uploaded(attacked: Attacked) -> None:
    right = attacked.told("neighbour", ROW)
    assert right.startswith("[")
    for number in range(len(HARMS)):
        attacked.told(str(number), b"harm")
    assert attacked.told("neighbour", ROW) == right
    assert soon(attacked.unloaded)
    again = {harm: attacked.told(str(number)) for number, harm in enumerate(HARMS)}
    assert again == dict.fromkeys(HARMS, "as uploaded")
    assert attacked.told("neighbour", ROW) == right
    assert os.listdir(attacked.outside) == []

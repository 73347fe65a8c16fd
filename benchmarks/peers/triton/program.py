"""Triton's server, out of PyTriton's wheel, with its Python backend: a process for each model. It runs in the
environment of its own requirements: `program.py MODELS PORT NAME ...`, in a folder that it writes to."""

import os
import sys
import sysconfig
from pathlib import Path

models, port, names = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
packages = Path(sysconfig.get_path("purelib"))
server = packages / "pytriton" / "tritonserver"
# The backend's processes are linked with libpython. It must be this interpreter's: the system may have another.
libraries = f"{sysconfig.get_config_var('LIBDIR')}:{packages / 'nvidia_pytriton.libs'}"

CONFIG = """
backend: "python"
max_batch_size: 32
dynamic_batching { }
input [ { name: "rows" data_type: TYPE_FP32 dims: [ 6 ] } ]
output [ { name: "said" data_type: TYPE_FP32 dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
"""
"""As its documentation begins: batches as large as there are connections, of those who are there; nobody waits."""


def add_model(repository: Path, name: str) -> None:
    version = repository / name / "1"
    version.mkdir(parents=True)
    (version / "model.ubj").symlink_to(models / f"{name}.ubj")
    (version / "model.py").symlink_to(Path(__file__).with_name("model.py").resolve())
    (repository / name / "config.pbtxt").write_text(CONFIG)


def add_backend(folder: Path) -> None:
    """The Python backend, with the one of its programs that is for this Python."""
    folder.mkdir(parents=True)
    stub = f"python_backend_stubs/{sys.version_info.major}.{sys.version_info.minor}/triton_python_backend_stub"
    for part in ("backends/python/libtriton_python.so", "backends/python/triton_python_backend_utils.py", stub):
        (folder / Path(part).name).symlink_to(server / part)


for name in names:
    add_model(Path("repository"), name)
add_backend(Path("backends/python"))
options = {
    "model-repository": "repository",
    "backend-directory": "backends",
    "http-address": "127.0.0.1",
    "http-port": port,
    "allow-grpc": "false",
    "allow-metrics": "false",
    "log-info": "false",
}
arguments = [f"--{name}={value}" for name, value in options.items()]
os.execve(server / "bin/tritonserver", ["tritonserver", *arguments], {**os.environ, "LD_LIBRARY_PATH": libraries})

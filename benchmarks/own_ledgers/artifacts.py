"""The models of the workloads: pickles of a given size, scripts that compute for a given time, and a scaler."""

import io
import random
import tarfile
from pathlib import Path

import joblib
from sklearn.dummy import DummyRegressor

MIB = 1024 * 1024
SCRIPT = """
import time

def model_fn(model_dir):
    return bytes({ballast})

def input_fn(body, content_type):
    return body

def predict_fn(rows, model):
    until_s = time.thread_time() + {work_s}
    while time.thread_time() < until_s:
        pass
    time.sleep({delay_s})
    return rows

def output_fn(rows, accept):
    return rows
"""
SCALER = """
def model_fn(model_dir):
    return 2.0

def predict_fn(rows, factor):
    return rows * factor
"""


def pickles(folder: Path, names: list[str], sizes_mib: tuple[float, ...]) -> None:
    """Models of these sizes in turn, each of which answers one number to every row."""
    folder.mkdir(parents=True)
    for number, name in enumerate(names):
        made = DummyRegressor(strategy="constant", constant=number).fit([[0.0]], [number])
        made.ballast_ = random.Random(number).randbytes(int(sizes_mib[number % len(sizes_mib)] * MIB))
        file = io.BytesIO()
        joblib.dump(made, file)
        (folder / name).write_bytes(packed({"model.joblib": file.getvalue()}))


def scripts(folder: Path, names: list[str], work_s: float = 0.0, delay_s: float = 0.0) -> None:
    """Scripts whose predictions take this much processor time, and then wait, as for another server."""
    folder.mkdir(parents=True)
    script = SCRIPT.format(work_s=work_s, delay_s=delay_s, ballast=MIB)
    for name in names:
        (folder / name).write_bytes(packed({"code/inference.py": script.encode(), "name.txt": name.encode()}))


def packed(files: dict[str, bytes]) -> bytes:
    """An artifact of these files."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()

"""The endpoint whose routers are measured: its models, and how much of them its instances hold."""

import io
import random
import tarfile
from dataclasses import dataclass

import joblib
from sklearn.dummy import DummyRegressor

from benchmarks.interrupted.stand import Stand
from benchmarks.routers.callers import ENDPOINT

BALLAST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class RoutersPlan:
    models: int = 300
    instances: int = 4
    threads: int = 6
    lasts_s: float = 600.0
    kills_every_s: tuple[float, float] = (6.0, 12.0)


def model(number: float) -> bytes:
    """A model that answers one number to every row, and holds some memory."""
    model = DummyRegressor(strategy="constant", constant=number).fit([[0.0]], [number])
    model.ballast_ = random.Random(number).randbytes(BALLAST_BYTES)
    file, packed = io.BytesIO(), io.BytesIO()
    joblib.dump(model, file)
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("model.joblib")
        entry.size = file.tell()
        archive.addfile(entry, io.BytesIO(file.getvalue()))
    return packed.getvalue()


def deploy(stand: Stand, plan: RoutersPlan) -> None:
    sagemaker = stand.client("sagemaker", attempts=5)
    memory_mib = 200 + plan.models * 160 // 300 // plan.instances * 5  # room for 160 of 300 models
    container = {
        "Image": "torpor",
        "Mode": "MultiModel",
        "ModelDataUrl": "s3://benchmark/",
        "Environment": {"TORPOR_MEMORY_MIB": str(memory_mib)},
    }
    named = {"VariantName": "AllTraffic", "ModelName": ENDPOINT, "InstanceType": "ml.m5.large"}
    variant = {**named, "InitialInstanceCount": plan.instances}
    sagemaker.create_model(ModelName=ENDPOINT, PrimaryContainer=container)
    sagemaker.create_endpoint_config(EndpointConfigName=ENDPOINT, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName=ENDPOINT, EndpointConfigName=ENDPOINT)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=ENDPOINT, WaiterConfig={"Delay": 1})

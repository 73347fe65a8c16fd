"""Takes pictures of the dashboard in five states, light and dark. `make screenshots` writes them all into a folder.

The states are: nothing deployed, a busy endpoint, one whose models need more memory than it has, one that sleeps, and
one of inference components.
docs/pictures has a few of them. It needs Chromium and Playwright, and takes two minutes.
"""

import io
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from tests.endpoint.helpers.constant_models import MIB, heavy_constant
from tests.endpoint.helpers.dashboard_browser import DashboardVisit, dashboard_visit
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many

SIZE = (1280, 860)
COLOURS = 255
THEMES = ("light", "dark")
CITIES = (
    "Atlanta_GA",
    "Austin_TX",
    "Baltimore_MD",
    "Boston_MA",
    "Chicago_IL",
    "Columbus_OH",
    "Dallas_TX",
    "Denver_CO",
    "Detroit_MI",
    "ElPaso_TX",
    "Fresno_CA",
    "Houston_TX",
    "LasVegas_NV",
    "LosAngeles_CA",
    "Memphis_TN",
    "Miami_FL",
    "NewYork_NY",
    "Oakland_CA",
    "Omaha_NE",
    "Phoenix_AZ",
    "Portland_OR",
    "SanDiego_CA",
    "Seattle_WA",
    "Tucson_AZ",
    "Tulsa_OK",
)
CALLERS, PAUSE_S = 3, 0.08
BUSY_S = 150.0  # a minute has to be over for the simulator


@dataclass(frozen=True)
class Picture:
    """One state of the dashboard, as an endpoint and a panel. An empty endpoint is none at all."""

    name: str
    endpoint: str
    panel: str


EMPTY = Picture("empty", "", "memory")
STATES = (
    Picture("busy", "houses", "memory"),
    Picture("charts", "houses", "charts"),
    Picture("pressure", "pressed", "memory"),
    Picture("timeline", "pressed", "timeline"),
    Picture("cold", "pressed", "cold"),
    Picture("what-if", "houses", "what-if"),
    Picture("asleep", "nights", "memory"),
    Picture("components", "shelf", "memory"),
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    simulator = ("--what-if", "torpor.simulator.what_if")
    with tempfile.TemporaryDirectory() as data, LiveEndpoint(Path(data), *simulator, frameworks=True) as live:
        with dashboard_visit(live.url, SIZE) as visit:
            take(visit, EMPTY, folder)
        furnish(live)
        with traffic(live):
            time.sleep(BUSY_S)
            with dashboard_visit(live.url, SIZE) as visit:
                for picture in STATES:
                    take(visit, picture, folder)


def take(visit: DashboardVisit, picture: Picture, folder: Path) -> None:
    """Write the picture in both themes."""
    visit.page.goto(f"{visit.url}/_torpor/#/{picture.endpoint}/{picture.panel}")
    visit.page.get_by_text("live", exact=True).wait_for()
    if picture.panel == "what-if":
        visit.page.get_by_role("button", name="Simulate").click()
        visit.page.locator(".ways").wait_for()
    for theme in THEMES:
        visit.in_theme(theme)
        visit.page.wait_for_timeout(2500)  # as many messages of the feed as a rate needs
        write(visit.page.screenshot(), folder / f"{picture.name}-{theme}.png")


def write(png: bytes, path: Path) -> None:
    """With a palette: a page has few colours, and so a quarter of the bytes."""
    picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)
    print(f"{path}  {path.stat().st_size / 1024:.0f} KiB")


def furnish(live: LiveEndpoint) -> None:
    """Endpoints with the same models: with room for all of them, with too little, and some that sleep."""
    dice = random.Random(1)
    folder = live.folder("models") / "houses"
    folder.mkdir()
    for number, city in enumerate(CITIES):
        (folder / f"{city}.tar.gz").write_bytes(heavy_constant(number, round(MIB * dice.lognormvariate(1.2, 0.7))))
    live.deploy("houses", Variant(many("models/houses", {"TORPOR_MEMORY_MIB": "256"})))
    live.deploy("pressed", Variant(many("models/houses", {"TORPOR_MEMORY_MIB": "80"})))
    serverless = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 5}}
    for name in ("nights", "offers", "rents"):
        live.deploy(name, Variant(many("models/houses", {"TORPOR_IDLE_SECONDS": "1"}), members=serverless))
    furnish_components(live)


def furnish_components(live: LiveEndpoint) -> None:
    """An endpoint with three components: of two copies, of one on a larger instance, and of none."""
    pools = [{"InstanceType": kind, "Priority": place} for place, kind in enumerate(("ml.m5.large", "ml.m5.xlarge"), 1)]
    scaling = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 3}
    variant = {"VariantName": "AllTraffic", "InitialInstanceCount": 1, "InstancePools": pools}
    live.sagemaker.create_endpoint_config(
        EndpointConfigName="shelf",
        ExecutionRoleArn="arn:aws:iam::123456789012:role/houses",
        ProductionVariants=[{**variant, "ManagedInstanceScaling": scaling}],
    )
    live.sagemaker.create_endpoint(EndpointName="shelf", EndpointConfigName="shelf")
    live.settled("shelf")
    for name, copies, memory_mib in (("houston", 2, 1024), ("dallas", 1, 9000), ("austin", 0, 1024)):
        live.sagemaker.create_inference_component(
            InferenceComponentName=name,
            EndpointName="shelf",
            Specification={
                "Container": {"Image": "torpor", "ArtifactUrl": f"s3://models/houses/{name.title()}_TX.tar.gz"},
                "ComputeResourceRequirements": {"MinMemoryRequiredInMb": memory_mib, "NumberOfCpuCoresRequired": 0.5},
            },
            RuntimeConfig={"CopyCount": copies},
        )


@contextmanager
def traffic(live: LiveEndpoint) -> Iterator[None]:
    """Callers of both endpoints that are awake, until the block ends. A few cities get most calls."""
    over = threading.Event()

    def call(seed: int) -> None:
        dice = random.Random(seed)
        while not over.is_set():
            city = CITIES[min(int(dice.paretovariate(0.7)) - 1, len(CITIES) - 1)]
            live.invoke(dice.choice(("houses", "houses", "pressed")), b"1", TargetModel=f"{city}.tar.gz")
            over.wait(PAUSE_S)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        yield
    finally:
        over.set()
        for caller in callers:
            caller.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Scripts on a live endpoint: what they see, and where their words go."""

from artifacts import put, script
from live import LiveEndpoint, Variant, many
from processes import soon

TELLING = """
import os, subprocess, sys
print("the script is loaded")
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    print("asked for", body)
    print("and told so", file=sys.stderr)
    subprocess.run(["sh", "-c", "echo by a program of its own"])
    return os.environ.get(str(body), "not there"), "text/plain"
"""
TARGET = {"TargetModel": "m.tar.gz"}


def deployed(live: LiveEndpoint, name: str, source: str, environment: dict[str, str]) -> str:
    put(live.folder(name.lower()), {"m.tar.gz": script(source)})
    return live.deploy(name, Variant(many(name.lower(), environment)))


def test_a_script_sees_its_container_s_environment_and_its_words_are_in_the_log(live: LiveEndpoint) -> None:
    name = deployed(live, "Telling", TELLING, {"MY_THRESHOLD": "0.7"})
    seen = {
        variable: live.invoke(name, variable.encode(), **TARGET)["Body"].decode()
        for variable in ("MY_THRESHOLD", "AWS_ENDPOINT_URL", "SAGEMAKER_MULTI_MODEL", "TORPOR_WARM_PARENT")
    }
    assert seen == {
        "MY_THRESHOLD": "0.7",
        "AWS_ENDPOINT_URL": live.url,
        "SAGEMAKER_MULTI_MODEL": "true",
        "TORPOR_WARM_PARENT": "not there",
    }
    words = {"the script is loaded", "asked for MY_THRESHOLD", "and told so", "by a program of its own"}
    assert soon(lambda: words <= logged(live, name))


def logged(live: LiveEndpoint, endpoint: str) -> set[str]:
    events = live.client("logs").filter_log_events(logGroupName=f"/aws/sagemaker/Endpoints/{endpoint}")["events"]
    return {event["message"] for event in events}

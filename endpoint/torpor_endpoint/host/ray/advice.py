"""What Ray's own words mean for whoever runs the endpoint, as a table. It does no I/O, and needs no Ray."""

import re

FAULTS: tuple[tuple[str, str], ...] = (
    (
        "InvalidAuthToken|Unauthenticated|AuthenticationError|auth(entication)? token",
        "the cluster refuses the token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, as on the "
        "cluster's nodes",
    ),
    (
        "[Vv]ersion mismatch|same versions? of Ray|different.*[Vv]ersion",
        "the cluster has another Ray or Python than this endpoint: install the same versions",
    ),
    (
        "Could not find any running Ray instance|ray_current_cluster",
        "no Ray runs on this machine: start it with `ray start`, set RAY_ADDRESS, or name a cluster's Ray Client "
        "server as ray://HOST:10001",
    ),
    (
        "Can't find a.*node|No node info|[Rr]aylet.*(isn't|not).*running|node ip address",
        "this machine is no node of the cluster: join it with `ray start --address`, or name the cluster's Ray Client "
        "server as ray://HOST:10001",
    ),
    (
        "ray\\[client\\]|grpcio|Ray Client requires",
        "ray:// needs Ray's client: pip install 'ray[client]'",
    ),
    (
        "Failed to connect|TimedOut|[Tt]imed out|connection timeout|UNAVAILABLE|DNS",
        "no Ray answers there: check the address, that this machine may reach it, and the token (RAY_AUTH_TOKEN)",
    ),
)
"""Patterns of what Ray says, and what to do."""

SHOWN_MAX = 300


def advice(said: str) -> str:
    """What to do about a cluster that cannot be used; Ray's last words if the table has no answer."""
    for pattern, what_to_do in FAULTS:
        if re.search(pattern, said):
            return what_to_do
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"Ray says: {lines[-1][:SHOWN_MAX]}" if lines else "Ray does not answer"


CAUSE = re.compile(r"^([\w.]*(?:Error|Exception|DifferentVersion)[\w.]*: .*)$", re.MULTILINE)


def cause(said: str) -> str:
    """The one line of an actor's traceback that says why it could not start; its first line if there is none."""
    if re.search("ModuleNotFoundError: No module named '?torpor", said):
        return "a node of the cluster has no Torpor: install torpor[container,ray] on all nodes"
    found = CAUSE.findall(said)
    lines = said.strip().splitlines() or ["it ended"]
    return str(found[-1] if found else lines[0]).removeprefix("torpor_endpoint.host.ray.actor.")[:SHOWN_MAX]

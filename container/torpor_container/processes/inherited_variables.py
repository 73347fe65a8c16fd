"""The variables that an endpoint's processes inherit from its environment, as a table; all others are dropped.

The zygote is started with these alone, and instances, user scripts, foreign containers and training scripts are
its children: none of them sees the passwords and tokens of the shell that `torpor up` was typed into. The endpoint adds
variables of its own, and what the user gave in `Environment`.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OF_AWS: Final = "AWS_"
"""The prefix of variables that lead to the real AWS. They are inherited only if artifacts come from another S3."""

ROLE_URL, ROLE_TOKEN = "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN"
"""The variables of the SDKs' container provider, which lead to the credentials of a role. The endpoint gives them."""
CREDENTIALS, READABLE = "/_torpor/credentials", "/_torpor/credentials/readable"
"""Where they lead; and the page beside it that says whether the role may read the object `?bucket=…&key=…`."""

CA_BUNDLE: Final = "AWS_CA_BUNDLE"
"""The variable by which AWS's clients trust further certificates."""

OF_INSTALLERS: Final = ("PIP_", "UV_")
"""The prefixes of package installers' variables. Instances inherit them, and scripts do not: the address of an index
may hold a password."""


OPT_OUTS: Final = (
    "DO_NOT_TRACK",
    "ORT_DISABLE_TELEMETRY",
    "RAY_USAGE_STATS_ENABLED",
    "HF_HUB_DISABLE_TELEMETRY",
    "DISABLE_TELEMETRY",
    "MLFLOW_DISABLE_TELEMETRY",
    "BENTOML_DO_NOT_TRACK",
    "SCARF_NO_ANALYTICS",
    "SCARF_ANALYTICS",
    "ANONYMIZED_TELEMETRY",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
)
"""The variables by which libraries and programs are told not to send usage data."""


@dataclass(frozen=True)
class Inherited:
    """One row: names, or prefixes that end with `*`; and what they are for."""

    names: tuple[str, ...]
    why: str

    def has(self, name: str) -> bool:
        return any(name.startswith(known[:-1]) if known.endswith("*") else name == known for known in self.names)


INHERITED: Final[tuple[Inherited, ...]] = (
    Inherited(("PATH", "HOME", "USER", "LOGNAME"), "programs, and the user's own folder"),
    Inherited(("LANG", "LANGUAGE", "LC_*", "TZ"), "language, encoding and time zone"),
    Inherited(("TMPDIR", "TEMP", "TMP"), "where temporary files go"),
    Inherited(("PYTHON*", "VIRTUAL_ENV", "LD_LIBRARY_PATH"), "where Python and its libraries are found"),
    Inherited(
        ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), "whose certificates are trusted"
    ),
    Inherited(
        ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        "the way to the network",
    ),
    Inherited(("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"), "which accelerators may be used"),
    Inherited(OPT_OUTS, "that no usage data is sent; on other machines too"),
    Inherited(tuple(f"{prefix}*" for prefix in OF_INSTALLERS), "how `requirements.txt` is installed; not for scripts"),
    Inherited((f"{OF_AWS}*",), "with `--s3-endpoint` only: credentials and region of the S3 that artifacts come from"),
)


def opt_outs(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables against usage data, which instances on other machines get too."""
    return {name: environment[name] for name in OPT_OUTS if name in environment}


def inherited(environment: Mapping[str, str], forgotten: tuple[str, ...] = ()) -> dict[str, str]:
    """The variables of the table, without names that begin with one of `forgotten`."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(forgotten) and any(row.has(name) for row in INHERITED)
    }


def for_foreign_code(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a foreign container or a user's script: without Torpor's and package installers' variables.

    The folder of this Python is added to `PATH`, so that the commands of its packages are found.
    """
    ours = ("TORPOR_", *OF_INSTALLERS)
    own = {name: value for name, value in environment.items() if not name.startswith(ours)}
    return {**own, "PATH": os.pathsep.join((own.get("PATH", os.defpath), os.path.dirname(sys.executable)))}

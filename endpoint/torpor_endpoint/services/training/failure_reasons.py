"""Writes why a script failed, in AWS's words."""

from torpor_endpoint.services.jobs.scripts.script_command import ScriptCommand


def algorithm_error(command: ScriptCommand, code: int, last_line: str, failure: str) -> str:
    """The reason of a failed script. `failure` is its text in `output/failure`; if that is empty, the reason has the
    form of AWS's toolkit."""
    if failure:
        return f"AlgorithmError: {failure}, exit code: {code}"
    info = '\nExtraInfo "OutOfMemory: Process killed by SIGKILL (signal 9)"' if code == 137 else ""
    message = f'ExitCode {code}\nErrorMessage "{last_line}"{info}\nCommand "{command}"'
    return f"AlgorithmError: ExecuteUserScriptError:\n{message}, exit code: {code}"

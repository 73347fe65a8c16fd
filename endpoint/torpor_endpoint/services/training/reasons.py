"""Why a job failed, as AWS words it: ClientError for what it was given, AlgorithmError for what its script did."""

from torpor_endpoint.services.training.running.command import TrainingCommand

INTERRUPTED = "InternalServerError: The endpoint stopped while the training job was {stage}. Create the job again."


def client_error(text: object) -> str:
    return f"ClientError: {text}"


def internal_error(text: object) -> str:
    return f"InternalServerError: {text}"


def algorithm_error(command: TrainingCommand, code: int, last_line: str, told: str) -> str:
    """`told` is what the script wrote to `output/failure`; without it, the words are those of AWS's toolkit."""
    if told:
        return f"AlgorithmError: {told}, exit code: {code}"
    info = '\nExtraInfo "OutOfMemory: Process killed by SIGKILL (signal 9)"' if code == 137 else ""
    message = f'ExitCode {code}\nErrorMessage "{last_line}"{info}\nCommand "{command}"'
    return f"AlgorithmError: ExecuteUserScriptError:\n{message}, exit code: {code}"

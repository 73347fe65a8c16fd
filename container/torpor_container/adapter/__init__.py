"""Adapter mode: the keeper in front of a foreign container, which it controls by SageMaker's contract, on loopback.

    keeper ──► loader ──► contract (LoadModel, UnloadModel, InvokeModel) ──► server (the container's processes)

The foreign container is a command line on this machine. It gets what it would get on SageMaker: requests to
`/ping`, `/models`, `/models/{name}/invoke` or `/invocations`, and the environment variables of the contract.
"""

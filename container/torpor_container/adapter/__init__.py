"""Adapter mode: the keeper in front of a foreign container, which it controls by SageMaker's contract, or by the
container's own calls, on loopback.

    keeper ──► loader ──► contract (LoadModel, UnloadModel, InvokeModel) ──► server (the container's processes)

The foreign container is a command line on this machine. It gets what it would get on SageMaker: requests to
`/ping`, `/models`, `/models/{name}/invoke` or `/invocations`, and the environment variables of the contract. A row of
the images may say that it loads models by another protocol (`repository_client`, `body_routers`).
"""

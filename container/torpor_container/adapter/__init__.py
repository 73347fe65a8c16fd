"""Adapter mode: the keeper in front of a foreign container, which it drives over SageMaker's contract on loopback.

    keeper ──► loader ──► contract (LoadModel, UnloadModel, InvokeModel) ──► server (the container's processes)

The foreign container is a command line on this machine. It sees what it would see on SageMaker: `/ping`, `/models`,
`/models/{name}/invoke` or `/invocations`, and the environment variables of the contract. Nothing of Torpor reaches it.
"""

"""A model for Multi Model Server: `handle` gets a batch of requests and returns as many answers."""

import os

WORD = None


def handle(data, context):
    """Reads the word once, since a worker process has one model. The server's first call, at the load, has no data."""
    global WORD
    if WORD is None:
        with open(os.path.join(context.system_properties["model_dir"], "word")) as file:
            WORD = file.read()
    return [f"{WORD}, {bytes(request['body']).decode()}!" for request in data or ()]

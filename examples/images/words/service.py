"""A model for Multi Model Server: `handle` gets a batch of requests and gives as many answers."""

import os

WORD = None


def handle(data, context):
    """One model per worker process, so the word is read once. The server's first call, at the load, has no data."""
    global WORD
    if WORD is None:
        with open(os.path.join(context.system_properties["model_dir"], "word")) as file:
            WORD = file.read()
    return [f"{WORD}, {bytes(request['body']).decode()}!" for request in data or ()]

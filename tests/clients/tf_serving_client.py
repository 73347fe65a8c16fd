"""The package tf-serving, unchanged: a client of TensorFlow Serving's REST API, for models that read images.

Run by `tests/clients/test_tf_serving.py` with a URL, a model and the words that it reads.
"""

import asyncio
import sys
from urllib.parse import urlsplit

from tf.serving import encode64, multipredict, predict  # type: ignore[import-not-found]


async def main(url: str, model: str, *words: str) -> None:
    at = urlsplit(url)
    place = {"host": f"http://{at.hostname}", "port": at.port, "endpoint": f"/v1/models/{model}:predict"}
    images = [encode64(word.encode()) for word in words]
    found = (await predict(images, **place)).unsafe()
    assert [one.preds[0] for one in found] == list(words), found
    assert [one.logprobs for one in found] == [[-0.5, -1.5]] * len(words), found
    pairs = (await multipredict([[image, image] for image in images], **place)).unsafe()
    assert [one[1][0] for one in pairs] == [(word, -0.5) for word in words], pairs
    place["endpoint"] = "/v1/models/none:predict"
    refused = await predict(images, **place)
    assert refused.tag == "left"
    assert refused.value.tag == "tfserving-error", refused
    assert "none" in refused.value.error, refused
    print("tf-serving passes")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

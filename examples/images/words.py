"""Multi Model Server behind Torpor: two small models, one endpoint, two calls.

    .venv/bin/python examples/images/words.py

It needs Java 11 or 17 on PATH, and the package multi-model-server, which `make` installs into .venv.
"""

import tarfile
import tempfile
from pathlib import Path

import torpor

HERE = Path(__file__).parent


def pack(artifact: Path, word: str) -> None:
    """Writes an artifact: service.py at the top, next to the model's own files."""
    source = artifact.with_name("word")
    source.write_text(word)
    with tarfile.open(artifact, "w:gz") as archive:
        archive.add(HERE / "words" / "service.py", "service.py")
        archive.add(source, "word")
    source.unlink()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pack(Path(folder, "english.tar.gz"), "Hello")
        pack(Path(folder, "german.tar.gz"), "Guten Tag")
        images = HERE / "multi-model-server.toml"
        with torpor.local(folder, image="multi-model-server", images=images) as endpoint:
            for model in ("english.tar.gz", "german.tar.gz"):
                print(endpoint.invoke(model, "Houston").decode())


if __name__ == "__main__":
    main()

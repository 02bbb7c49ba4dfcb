"""Built-in models for tests: random models packed as shipped ones, in a folder that takes the place of the package's."""

import json
from pathlib import Path

import pytest

from clearhead.formats import built_in
from clearhead.formats.packing import pack_model
from tests.small_run import make_run

EN_ES = {"source": "en", "target": "es", "bleu": 46.5, "chrf": 65.25, "test": "none", "signature": "none"}
TO_ENGLISH = {"source": "es", "target": "en", "bleu": 50.0}
TO_MANY = [EN_ES, {"source": "en", "target": "hi", "chrf": 50.0}, {"source": "en", "target": "bn"}]


def write_description(path: Path, directions: list[dict[str, object]]) -> Path:
    """Write a model.json."""
    data = {"summary": "A random model.", "directions": directions, "licence": "CC BY 2.0 FR", "attribution": "tests"}
    path.write_text(json.dumps(data))
    return path


def install_models(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """Pack two random models, es-en and the one-to-many model en-es-hi-bn, and install them; return their folder."""
    installed = folder / "models"
    models = {"es-en": ((), [TO_ENGLISH]), "en-es-hi-bn": (("es", "hi", "bn"), TO_MANY)}
    for name, (tags, directions) in models.items():
        run = make_run(folder / f"run-{name}", tags)
        (run / "README.md").write_text(f"# {name}\n")
        pack_model(run, installed / name, write_description(folder / f"{name}.json", directions))
    patch.setattr(built_in, "MODELS", installed)
    return installed

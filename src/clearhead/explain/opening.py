"""Open a model to explain it: a translator, or a language model or classifier with its vocabularies."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import torch

from clearhead.decoding.engines.engine import DeviceName, Precision
from clearhead.decoding.engines.torch_engine import load_model
from clearhead.decoding.translator import Translator
from clearhead.explain.checks import refuse_exported
from clearhead.explain.explanation import ExplainedModel
from clearhead.formats.model_folder import ModelFolder, find_model, load_config, load_vocabularies
from clearhead.model import SequenceModel
from clearhead.text.tokeniser import Vocabularies


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model that does not translate, with its vocabularies and the name of its folder."""

    model: SequenceModel
    vocabularies: Vocabularies
    name: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, which are numbers if they were given no others."""
        return self.vocabularies.labels or tuple(map(str, range(self.model.config.num_classes or 0)))


def open_model(
    path: str | Path | ModelFolder, *, device: DeviceName = "auto", precision: Precision = "auto"
) -> Translator | LoadedModel:
    """Load a run, a checkpoint, an OPUS-MT folder or a built-in model, of any shape, with PyTorch."""
    refuse_exported(path)
    folder = find_model(path)
    if load_config(folder).shape == "encoder-decoder":
        return Translator.load(folder, engine="torch", device=device, precision=precision)
    vocabularies = load_vocabularies(folder)
    return LoadedModel(load_model(folder, device, precision).eval(), vocabularies, folder.vocabularies.absolute().name)


def model_name(model: Translator | LoadedModel) -> str:
    """Return the name of the folder that a model was loaded from, without the name of its checkpoint."""
    if isinstance(model, LoadedModel):
        return model.name
    if not model.files:
        return ""
    folder = model.files[0].absolute().parent
    return folder.parent.name if folder.name in ("best", "last") else folder.name


def double_copy(model: SequenceModel) -> SequenceModel:
    """Return a float64 copy of a model in eval mode, whose numbers are correct in every digit shown."""
    double = deepcopy(model).to(dtype=torch.float64).eval()
    assert isinstance(double, SequenceModel)
    return double


def explained_model(model: Translator | LoadedModel) -> ExplainedModel:
    """Return the facts about a model."""
    return ExplainedModel(model_name(model), model.model.config, str(model.model.dtype).removeprefix("torch."))

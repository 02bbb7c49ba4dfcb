"""The studies by name, with what can be said about each without loading PyTorch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from clearhead.errors import ClearheadError, did_you_mean, not_installed
from clearhead.studies.experiment import Experiment


@dataclass(frozen=True)
class StudyEntry:
    """The title of a study and its time on two cores; those that take longer than seconds train models in PyTorch."""

    title: str
    duration: str = "seconds"

    @property
    def trains_models(self) -> bool:
        """Whether the study needs PyTorch."""
        return self.duration != "seconds"


# The study `some-name` is the module some_name, which has CLAIM, run(seed) -> Measurement, and PANELS of its plot. If
# these would not show what it argues, it has SIZE (in inches) and draw(result, figure) instead. Those that train models
# have run(seed, sizes, show) and SMALL, the sizes of the models and of the data: a frozen dataclass.
STUDIES: Mapping[str, StudyEntry] = {
    "variance": StudyEntry("Why scores are divided by √d"),
    "positions": StudyEntry("Why positions are sines and cosines"),
    "order": StudyEntry("Self-attention ignores word order without positions or a mask"),
    "norms": StudyEntry("The effect of padding on batch norm and layer norm"),
    "static": StudyEntry("Static and contextual word vectors"),
    "leak": StudyEntry("A decoder without a mask reads the answer"),
    "cost": StudyEntry("The cost of attention grows with the square of the length"),
    "gradient-reach": StudyEntry("How far a gradient reaches in three architectures", "2 min"),
    "length-cost": StudyEntry("Time and memory against length in three architectures", "30 s"),
    "readers": StudyEntry("Recurrent, convolutional and Transformer models by sentence length", "4 min"),
    "word-senses": StudyEntry("Static and contextual vectors of words with two senses", "2 min"),
    "position-training": StudyEntry("Kinds of positions, trained on short and tested on long sentences", "2 min"),
    "score-scaling": StudyEntry("Scaled and unscaled scores, one head and many", "2 min"),
    "no-mask": StudyEntry("A decoder trained without its mask", "3 min"),
    "stability": StudyEntry("Which Transformers train: residuals, norms, warm-up, rates", "5 min"),
    "multi-hop": StudyEntry("Questions of one, two and three hops, by number of layers", "3 min"),
    "teacher-forcing": StudyEntry("Teacher forcing in parallel and token by token", "30 s"),
}


def find_study(name: str) -> ModuleType:
    """Return the module of a study. An error says which names there are, or how to install a missing PyTorch."""
    if name not in STUDIES:
        near = did_you_mean(name, STUDIES)
        raise ClearheadError(f"'{name}' is not an experiment.{near} Experiments: {', '.join(STUDIES)}.")
    if STUDIES[name].trains_models:
        try:
            import torch  # noqa: F401
        except ImportError:
            raise ClearheadError(not_installed(f"the experiment {name}", "torch", "train")) from None
    return import_module(f"clearhead.studies.{name.replace('-', '_')}")


def run_study(
    name: str, seed: int = 0, *, sizes: Any = None, show: Callable[[str, int, int], None] = lambda *_: None
) -> Experiment:
    """Run a study. Those that train models have small `sizes` by default, and show the part that is done and its total.

    They use one thread: models of this size are not faster with more, and far slower if other programs use the cores.
    Besides, the rounding does not depend on the number of cores.
    """
    module = find_study(name)
    if STUDIES[name].trains_models:
        import torch

        num_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            measurement = module.run(seed, sizes or module.SMALL, show)
        finally:
            torch.set_num_threads(num_threads)
    else:
        measurement = module.run(seed)
    return Experiment(name, STUDIES[name].title, seed, module.CLAIM, *measurement)

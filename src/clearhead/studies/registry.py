"""The studies by name, with what can be said about each without loading PyTorch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from clearhead.errors import ClearheadError, not_installed
from clearhead.experiments.experiment import Experiment


@dataclass(frozen=True)
class StudyEntry:
    """The title of a study, and the time of its small form on two cores."""

    title: str
    duration: str


# The study `some-name` is the module some_name, which has SMALL (the sizes of the models and of the data, a frozen
# dataclass), run(seed, sizes, show) -> Experiment, and a plot like that of an experiment: PANELS, or SIZE and draw.
STUDIES: Mapping[str, StudyEntry] = {
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
    """Return the module of a study. Loads PyTorch; the error says how to install it if it is missing."""
    assert name in STUDIES
    try:
        import torch  # noqa: F401
    except ImportError:
        raise ClearheadError(not_installed(f"the experiment {name}", "torch", "train")) from None
    return import_module(f"clearhead.studies.{name.replace('-', '_')}")


def run_study(name: str, seed: int, show: Callable[[str, int, int], None]) -> Experiment:
    """Run the small form of a study with one thread.

    Models of this size are not faster with more threads, and far slower if other programs use the cores. Besides, the
    rounding does not depend on the number of cores.
    """
    module = find_study(name)
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        result: Experiment = module.run(seed, module.SMALL, show)
    finally:
        torch.set_num_threads(num_threads)
    return result

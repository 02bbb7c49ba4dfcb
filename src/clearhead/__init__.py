"""clearhead: a glass-box Transformer toolkit. The model that computes fast is the model that shows its steps.

`clearhead.solve(problem)` solves an attention exercise and returns its Worksheet;
`clearhead.Translator.load(run).translate([text])` translates with a trained model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearhead.decoding.translator import Translator
    from clearhead.worksheet import Problem, Rounding, Worksheet, load_problem, solve

__version__ = "0.1.0"

__all__ = ["Problem", "Rounding", "Translator", "Worksheet", "__version__", "load_problem", "solve"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import clearhead` and the help of the command line stay fast."""
    if name in __all__:
        home = "clearhead.decoding.translator" if name == "Translator" else "clearhead.worksheet"
        return getattr(import_module(home), name)
    raise AttributeError(f"module 'clearhead' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

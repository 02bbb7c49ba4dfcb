"""Load a model with an engine that supports what a translation needs.

torch is only imported if the chosen engine needs it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import get_args

from clearhead.decoding.engines.engine import DeviceName, Engine, EngineName, EngineNeeds, Precision
from clearhead.errors import ConfigError, did_you_mean, not_installed, printable
from clearhead.formats.export_file import RUNTIMES, read_export
from clearhead.formats.model_folder import ModelFolder, load_config
from clearhead.formats.shapes import num_parameters

# Up to here NumPy answers before another engine, by measurement (benchmarks/start_up.py): 800 characters, by greedy
# search with a model of 10 million parameters. A step of a smaller model hardly takes less time.
_MOST_CHARACTERS = 800
_SMALL = 10_000_000
# that install the engines; each engine has the name of its package
_EXTRAS: Mapping[EngineName, str] = {"torch": "translate", "ctranslate2": "fast"}


@dataclass(frozen=True)
class EngineChoice:
    """The requested engine, device and precision, and the number of threads of CTranslate2 (0: one for each core)."""

    engine: EngineName = "auto"
    device: DeviceName = "auto"
    precision: Precision = "auto"
    num_threads: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("engine", EngineName), ("device", DeviceName), ("precision", Precision)):
            value, choices = getattr(self, name), get_args(kind)
            if value not in choices:
                near = did_you_mean(str(value), choices)
                raise ConfigError(
                    f"{name} = {printable(str(value))!r} is not valid.{near} Choices: {', '.join(choices)}.",
                    options=(name,),
                )


@dataclass(frozen=True)
class OpenedEngine:
    """An engine, and a note if it is not the requested one."""

    engine: Engine
    notes: tuple[str, ...] = ()


def open_engine(model: ModelFolder, choice: EngineChoice, needs: EngineNeeds) -> OpenedEngine:
    """Load a model with an engine that supports `needs`.

    `auto` takes the engine that answers soonest, start-up included: NumPy for a few sentences, for more of them torch
    on a GPU, and on a CPU CTranslate2 or else torch. NumPy also serves where no other engine is installed. If the
    requested engine is not installed, ConfigError is raised; if it lacks something, another one is used, with a note.
    An export is only run by the program that it was exported to.
    """
    if model.runtime is not None:
        return _open_export(model, choice, needs)
    _check_installed(choice.engine)
    lacking = {name: _lacks(name, model, choice, needs) for name in _candidates(model, choice, needs)}
    chosen = next((name for name, reason in lacking.items() if reason is None), None)
    if chosen is None:
        raise _nothing_fits(lacking)
    requested = choice.engine
    notes: tuple[str, ...] = ()
    if requested not in ("auto", chosen):
        notes = (f"Using the engine {chosen}, because {requested} cannot do this: {lacking[requested]}.",)
    return OpenedEngine(_open(chosen, model, choice), notes)


def _check_installed(engine: EngineName) -> None:
    """Raise ConfigError if a package of the engine is not installed."""
    if engine in _EXTRAS and not is_installed(engine):
        raise ConfigError(not_installed(f"the engine {engine}", engine, _EXTRAS[engine]), options=("engine",))


def _open_export(model: ModelFolder, choice: EngineChoice, needs: EngineNeeds) -> OpenedEngine:
    """Load an export with its own engine, or raise ConfigError with what that engine lacks."""
    assert model.runtime is not None
    fact = f"{printable(str(model.folder))} is an export to {RUNTIMES[model.runtime]}"
    if model.runtime == "onnx":
        raise ConfigError(
            f"{fact}, which is for onnxruntime. Use the model that it was exported from.", options=("model",)
        )
    if choice.engine not in ("auto", model.runtime):
        raise ConfigError(
            f"{fact}, which the engine {choice.engine} cannot run. Use the engine {model.runtime}, or the model that "
            "it was exported from.",
            options=("engine", "model"),
        )
    _check_installed(model.runtime)
    precision = read_export(model.folder).precision
    if choice.precision not in ("auto", precision):
        raise ConfigError(
            f"{fact} in {precision}, and cannot be run in {choice.precision}. Use {precision}, or export the model "
            "again.",
            options=("precision",),
        )
    exported = replace(choice, precision=precision)
    reason = _lacks(model.runtime, model, exported, needs)
    if reason is not None:
        raise ConfigError(
            f"{fact}, which cannot do this: {reason}. Use the model that it was exported from.", options=("model",)
        )
    return OpenedEngine(_open(model.runtime, model, exported))


def _candidates(model: ModelFolder, choice: EngineChoice, needs: EngineNeeds) -> Sequence[EngineName]:
    """Return the engines to try, the preferred one first."""
    if choice.engine != "auto":
        return tuple(dict.fromkeys((choice.engine, "torch", "numpy")))
    order: tuple[EngineName, ...] = ("ctranslate2", "torch", "numpy")
    if is_soonest(model, needs):
        return ("numpy", *order)
    from clearhead.decoding.engines import ctranslate2_engine

    return ("torch", "numpy") if ctranslate2_engine.sees_gpu(choice.device) and is_installed("torch") else order


def is_soonest(model: ModelFolder, needs: EngineNeeds) -> bool:
    """Return whether NumPy finishes a text before another engine has started: that is, a short text."""
    if needs.num_characters is None:
        return False
    config = load_config(model)
    if config.architecture != "transformer":  # NumPy runs no other, and its size is not known without torch
        return False
    size = max(num_parameters(config), _SMALL) / _SMALL
    return needs.num_characters * needs.settings.beam * size <= _MOST_CHARACTERS


def is_installed(package: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    return find_spec(package) is not None


def _lacks(name: EngineName, model: ModelFolder, choice: EngineChoice, needs: EngineNeeds) -> str | None:
    """Return why an engine cannot be used, as a clause, or None."""
    if name == "ctranslate2":
        from clearhead.decoding.engines import ctranslate2_engine

        return ctranslate2_engine.lacks(model, needs, choice.device, choice.precision)
    if name == "numpy":
        from clearhead.decoding.engines import numpy_engine

        return numpy_engine.lacks(model, needs, choice.device, choice.precision)
    return None if is_installed("torch") else "torch is not installed"


def _nothing_fits(lacking: Mapping[EngineName, str | None]) -> ConfigError:
    return ConfigError(
        f"the engine numpy cannot do this: {lacking['numpy']}. "
        + not_installed("This translation", "torch", "translate")
    )


def _open(name: EngineName, model: ModelFolder, choice: EngineChoice) -> Engine:
    if name == "ctranslate2":
        from clearhead.decoding.engines.ctranslate2_engine import open_ctranslate2

        return open_ctranslate2(model, choice.device, choice.precision, choice.num_threads)
    if name == "numpy":
        from clearhead.decoding.engines.numpy_engine import open_numpy

        return open_numpy(model)
    from clearhead.decoding.engines.torch_engine import open_torch

    return open_torch(model, choice.device, choice.precision)

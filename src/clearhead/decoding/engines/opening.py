"""Load a model with an engine that supports what a translation needs.

torch is only imported if the chosen engine needs it.
"""

from dataclasses import dataclass
from typing import get_args

from clearhead.decoding.engines.engine import DeviceName, Engine, EngineName, EngineNeeds, Precision
from clearhead.errors import ConfigError, did_you_mean, printable
from clearhead.formats.model_folder import ModelFolder


@dataclass(frozen=True)
class EngineChoice:
    """The requested engine, device and precision."""

    engine: EngineName = "auto"
    device: DeviceName = "auto"
    precision: Precision = "auto"

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

    `auto` uses torch on a GPU. On a CPU it uses CTranslate2 if that is installed and supports `needs`, else torch.
    """
    from clearhead.decoding.engines import ctranslate2_engine

    notes: tuple[str, ...] = ()
    if choice.engine == "ctranslate2" or (choice.engine == "auto" and not ctranslate2_engine.sees_gpu(choice.device)):
        reason = ctranslate2_engine.lacks(model, needs, choice.device, choice.precision)
        if reason is None:
            return OpenedEngine(ctranslate2_engine.open_ctranslate2(model, choice.device, choice.precision))
        if choice.engine == "ctranslate2":
            notes = (f"Using the engine torch, because ctranslate2 cannot do this: {reason}.",)
    from clearhead.decoding.engines.torch_engine import open_torch

    return OpenedEngine(open_torch(model, choice.device, choice.precision), notes)

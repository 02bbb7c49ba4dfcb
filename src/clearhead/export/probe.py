"""What is compared: a program that translates, and its logits or log-probabilities on given translations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata

import numpy as np
import torch

from clearhead.decoding.engines.ctranslate2_engine import CTranslate2Engine, open_ctranslate2
from clearhead.decoding.engines.engine import Engine
from clearhead.decoding.engines.torch_engine import TorchEngine, open_torch
from clearhead.export.onnx_program import OnnxEngine, OnnxTransformer
from clearhead.formats.export_file import ONNX_ENCODER, ONNX_STEP, read_export
from clearhead.formats.model_folder import ModelFolder
from clearhead.model.batch import padded
from clearhead.model.modes import evaluation_mode
from clearhead.model.numpy_transformer import Array

Rows = Sequence[Sequence[int]]
_CPU = torch.device("cpu")


# From sources, which end with eos, and targets: the logits (B, T, V) of every token, given the tokens before it. Rows
# after the end of a target have no meaning.
LogitSource = Callable[[Rows, Rows], Array]
# From the same: the log-probabilities of the tokens. A list can be shorter than a target that has not ended.
LogProbSource = Callable[[Rows, Rows], list[list[float]]]


@dataclass(frozen=True)
class ComparedProgram:
    """A program with a model: it translates, and returns logits or only log-probabilities."""

    engine: Engine
    described: str  # program, version, device and precision
    logits: LogitSource | None = None
    log_probs: LogProbSource | None = None


def torch_probe(model: ModelFolder) -> ComparedProgram:
    """Return the model in PyTorch, in float32 on a CPU."""
    engine = open_torch(model, "cpu", "float32")
    return ComparedProgram(
        engine, f"torch {metadata.version('torch').partition('+')[0]}, cpu, float32", partial(_torch_logits, engine)
    )


def onnx_probe(folder: ModelFolder) -> ComparedProgram:
    """Return an export to ONNX, run by onnxruntime."""
    description = read_export(folder.folder)
    encoder, step = ((folder.folder / name).read_bytes() for name in (ONNX_ENCODER, ONNX_STEP))
    engine = OnnxEngine(OnnxTransformer(description.config, encoder, step), description.precision)
    described = f"onnxruntime {metadata.version('onnxruntime')}, cpu, {description.precision}"
    return ComparedProgram(engine, described, partial(_onnx_logits, engine))


def ctranslate2_probe(folder: ModelFolder, precision: str) -> ComparedProgram:
    """Return an export to CTranslate2, which does not return logits."""
    engine = open_ctranslate2(folder, "cpu", "int8" if precision == "int8" else "float32")
    described = f"ctranslate2 {metadata.version('ctranslate2')}, cpu, {precision}"
    return ComparedProgram(engine, described, log_probs=partial(_ctranslate2_log_probs, engine))


def _torch_logits(engine: TorchEngine, sources: Rows, targets: Rows) -> Array:
    model = engine.model
    with evaluation_mode(model), torch.inference_mode():
        source, target = (padded(rows, model.config.pad, model.device) for rows in (sources, targets))
        logits = model.decode(model.shifted(target), model.encode(source))
    return np.asarray(logits.float().cpu().numpy(), dtype=np.float32)


def _onnx_logits(engine: OnnxEngine, sources: Rows, targets: Rows) -> Array:
    model, config = engine.model, engine.model.config
    source, target = (padded(rows, config.pad, _CPU).numpy() for rows in (sources, targets))
    cache = model.encode(source)
    inputs = np.concatenate((np.full((len(target), 1), config.start_id), target[:, :-1]), axis=1)
    steps = [model.step(inputs[:, [place]], cache)[:, 0] for place in range(inputs.shape[1])]
    return np.stack(steps, axis=1)  # (B, T, V)


def _ctranslate2_log_probs(engine: CTranslate2Engine, sources: Rows, targets: Rows) -> list[list[float]]:
    eos = engine.config.eos
    # CTranslate2 adds eos, for which a translation that was cut at the length limit has no room: its last token is not
    # scored
    scored = engine.log_probs(sources, [row[:-1] for row in targets])
    return [log_probs[: len(row) - (row[-1] != eos)] for row, log_probs in zip(targets, scored, strict=True)]

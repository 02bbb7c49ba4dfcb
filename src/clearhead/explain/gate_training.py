"""Learn which heads a model needs: fine-tune it with Hard-Concrete gates and a penalty on the number of open ones.

loss per token + penalty · Σ P(z ≠ 0) / number of heads. Heads whose gate ends at 0 are removed, and the gates of the
others are multiplied into W_O, so that the smaller model has no gates.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch

from clearhead.errors import ConfigError
from clearhead.explain.hard_concrete import LearntGates
from clearhead.explain.token_pairs import TokenPair, batch_of, batches_of
from clearhead.formats.head_removal import without_heads
from clearhead.model import Batch, Transformer
from clearhead.model.attention import Attention
from clearhead.model.gates import Gates
from clearhead.model.heads import AttentionHead
from clearhead.training.config import TrainingConfig
from clearhead.training.objective import objective


@dataclass(frozen=True)
class GateTraining:
    """How gates are learnt; `penalty` is in nats per token, for all heads together."""

    penalty: float = 0.1
    num_updates: int = 500
    rate: float = 1e-4  # of the weights, at the start; it falls linearly to 0
    gate_rate: float = 0.05  # of log α, which must move far in few updates
    label_smoothing: float = 0.1
    r_drop: float = 0.0
    batch_tokens: int = 4096
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.penalty < float("inf"):
            raise ConfigError(f"{self.penalty:g} is not a penalty on heads. Give a number above 0, such as 0.1.")


def learn_gates(model: Transformer, pairs: Sequence[TokenPair], training: GateTraining) -> tuple[Transformer, Gates]:
    """Return a fine-tuned copy of a model in eval mode, and its gates after training."""
    with torch.random.fork_rng(devices=_gpus(model)):
        torch.manual_seed(training.seed)
        random = torch.Generator().manual_seed(training.seed)
        tuned = deepcopy(model).train()
        gates = LearntGates(tuned.config, tuned.device)
        groups = [
            {"params": list(tuned.parameters()), "lr": training.rate},
            {"params": list(gates.parameters()), "lr": training.gate_rate},
        ]
        optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0)
        batches = _batches(tuned, pairs, training, random)
        settings = TrainingConfig(label_smoothing=training.label_smoothing, r_drop=training.r_drop)
        for number in range(training.num_updates):
            optimiser.param_groups[0]["lr"] = training.rate * (1 - number / training.num_updates)
            sampled = gates.sample(random)
            with torch.autocast(tuned.device.type, dtype=torch.bfloat16, enabled=tuned.device.type == "cuda"):
                loss = objective(tuned, next(batches), settings, gates=sampled).mean
            total = loss + training.penalty * gates.expected_open() / gates.num_gates
            optimiser.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(tuned.parameters(), 1.0)
            optimiser.step()
    return tuned.eval(), gates.final()


def _gpus(model: Transformer) -> list[torch.device]:
    return [model.device] if model.device.type == "cuda" else []


def _batches(
    model: Transformer, pairs: Sequence[TokenPair], training: GateTraining, random: torch.Generator
) -> Iterator[Batch]:
    """Yield batches of sentences of similar lengths, in another order in every pass, without end."""
    groups = list(batches_of(pairs, training.batch_tokens))
    while True:
        for number in torch.randperm(len(groups), generator=random).tolist():
            yield batch_of([pairs[index] for index in groups[number]], model.config, model.device)


def remove_closed(model: Transformer, gates: Gates) -> Transformer:
    """Return the model without the heads whose gate is 0; the other gates are multiplied into W_O."""
    scaled = deepcopy(model)
    closed = []
    with torch.no_grad():
        for where, values in gates.outputs.items():
            stack, layer, kind = where.split(".")
            attention = getattr(getattr(scaled, f"{stack}_blocks")[int(layer)], kind)
            assert isinstance(attention, Attention)
            attention.output.weight *= values.repeat_interleave(attention.d_k)
            closed += [AttentionHead(where, number) for number, value in enumerate(values.tolist()) if value == 0]
    return without_heads(scaled, closed)

"""The rule of a planned run: from the amount of text, the measured speed and the time to settings, each with a reason.

The numbers come from the experiments in LOG.md; benchmarks/plan_fit.py compares the plans with configs made by hand.
No function here reads files or uses a device.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clearhead.data.store import PairStore
from clearhead.model.architecture import presets_of
from clearhead.model.config import ModelConfig
from clearhead.training.config import RunConfig

# Pairs (below this number) -> pieces of the vocabulary.
_VOCABULARIES = {
    "cpu": ((3_000, 2_000), (20_000, 4_000), (math.inf, 6_000)),  # the output layer takes a third of an update
    "cuda": ((6_000, 2_000), (20_000, 4_000), (200_000, 10_000), (math.inf, 16_000)),
}
# Characters from which pieces are learned, per second of the run: 5 % of the time, at 800,000 characters per second.
_LEARNED, _MIN_LEARNED = 40_000, 10_000  # the minimum is in sentences
# Characters of text, on both sides, that can be prepared and read at least once, per second of the run.
_USABLE = {"cpu": 160_000, "cuda": 1_200_000}
_MIN_PAIRS = 5_000
_TINY = 2_000  # pairs: with less text, a larger model only memorises it sooner
_WIDEST = ((60_000, 256), (math.inf, 512))  # pairs (below this number) -> largest width
_TOKENS_PER_WEIGHT = 4.0  # a larger model would not be trained enough
_FEW_EPOCHS, _ENOUGH_EPOCHS = 20.0, 60.0  # R-Drop makes an epoch cost twice as much
# Pairs (below this number) -> most epochs of a training with R-Drop. After that the model only memorises the text.
_MOST_EPOCHS = ((6_000, 150), (20_000, 100), (math.inf, 60))
_UPDATES = {"cpu": 1_500, "cuda": 3_000}  # enough for a model to settle; more and smaller updates are slower
_BATCHES = {"cpu": (512, 4096), "cuda": (2048, 16_384)}  # smallest and largest batch, in target tokens
_BATCHES_PER_EPOCH = 12
_RATE, _RATE_BATCH = 0.9, 8192  # 0.0070 for width 128, 0.0035 for 256, with batches of 8,192 tokens
_HIGHEST_RATE, _POST_NORM = 7e-3, 0.3  # a limit for narrow models, and a factor: post-norm needs a lower rate
_MUON_UPDATES = 3_000  # in shorter runs Muon learns more per update than AdamW
_LONGEST_WARM_UP = 1_000
_MOST_TOKENS, _EPOCHS_MOST_TOKENS = 4096, 8192  # of a batch, with `steps` and with `epochs`
_FULL = 0.95  # share of a packed batch that is not padding
_OTHER_RATE, _TUNING_RATE = 1e-3, 1e-4


@dataclass(frozen=True)
class Size:
    """The size of a model."""

    encoder_blocks: int
    decoder_blocks: int
    d_model: int
    d_ff: int
    num_heads: int

    def __str__(self) -> str:
        return f"{self.encoder_blocks} + {self.decoder_blocks} layers of width {self.d_model}"

    @property
    def settings(self) -> dict[str, int]:
        """The settings of the model, with their paths."""
        return {f"model.{name}": value for name, value in asdict(self).items()}

    @property
    def num_weights(self) -> int:
        """The number of weights in the layers, without embeddings."""
        attention, feed_forward = 4 * self.d_model**2, 2 * self.d_model * self.d_ff
        return self.encoder_blocks * (attention + feed_forward) + self.decoder_blocks * (2 * attention + feed_forward)


SIZES = (Size(2, 2, 128, 512, 4), Size(4, 4, 128, 256, 4), Size(6, 3, 256, 1024, 4), Size(6, 3, 512, 2048, 8))
FIRST_SIZE = {
    "cpu": 0,
    "cuda": 2,
}  # the index of the size that is measured first: on a GPU, small models are not faster


@dataclass(frozen=True)
class Choice:
    """A decision of the plan: what is shown, why, and the settings (with their paths) that it consists of."""

    name: str
    value: str
    reason: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Situation:
    """What a plan depends on: the training text in pairs and tokens per epoch, the device, and the time to train."""

    num_pairs: int
    source_tokens: int
    target_tokens: int
    seconds: float
    device: str  # cpu or cuda

    def epochs(self, tokens_per_second: float) -> float:
        """Return how often the text can be read in the time, at a speed in target tokens."""
        return tokens_per_second * self.seconds / self.target_tokens


@dataclass(frozen=True)
class Recipe:
    """The choices for a size, before the number of updates is known."""

    size: Size
    batch_tokens: int
    r_drop: float
    most_epochs: float
    choices: tuple[Choice, ...]


def _below(table: tuple[tuple[float, int], ...], number: float) -> int:
    return next(value for limit, value in table if number < limit)


def choose_vocabulary(num_pairs: int, device: str) -> Choice:
    """Choose the number of pieces by the amount of text."""
    size = _below(_VOCABULARIES[device], num_pairs)
    reason = f"for {num_pairs:,} pairs; more pieces would be too rare to learn"
    if size < _below(_VOCABULARIES["cuda"], num_pairs):
        reason = "small, because the output layer takes a third of the time on a CPU"
    return Choice("vocabulary", f"{size:,} pieces", reason, {"text.vocabulary": size})


def usable_pairs(num_pairs: int, num_characters: int, seconds: float, device: str) -> int:
    """Return how many pairs of a text can be prepared and read in the time: all of them, unless the time is short."""
    most = int(_USABLE[device] * seconds * num_pairs / max(1, num_characters))
    return min(num_pairs, max(most, _MIN_PAIRS))


def choose_sample(num_pairs: int, characters_per_sentence: float, seconds: float, most: int) -> Choice | None:
    """Choose from how many sentences the pieces are learned, or None for the default, which is also the maximum."""
    number = max(_MIN_LEARNED, round(int(_LEARNED * seconds / max(1.0, characters_per_sentence)), -3))
    if number >= min(2 * num_pairs, most):
        return None
    return Choice(
        "vocabulary text",
        f"{number:,} sentences",
        "a random sample: learning the pieces from more would take more than 5 % of the time",
        {"text.max_sentences": number},
    )


def possible_sizes(num_pairs: int) -> tuple[Size, ...]:
    """Return the sizes that an amount of text is enough for, from the smallest on: at least the smallest."""
    if num_pairs < _TINY:
        return SIZES[:1]
    return tuple(size for size in SIZES if size.d_model <= _below(_WIDEST, num_pairs))


def is_worthwhile(size: Size, situation: Situation, tokens_per_second: float) -> bool:
    """Whether a model of this size can be trained enough: it reads enough text for its weights, often enough."""
    if size not in possible_sizes(situation.num_pairs):
        return False
    epochs = situation.epochs(tokens_per_second)
    if _FEW_EPOCHS <= epochs < _ENOUGH_EPOCHS and size.d_model > 256:
        return False  # too many epochs to do without R-Drop, too few to do with it
    tokens = min(epochs, _ENOUGH_EPOCHS) * (situation.source_tokens + situation.target_tokens)
    return epochs >= _ENOUGH_EPOCHS or tokens >= _TOKENS_PER_WEIGHT * size.num_weights


def first_batch(situation: Situation) -> int:
    """Return the batch size with which speeds are measured: as large as the device uses well and the text allows."""
    smallest, largest = _BATCHES[situation.device]
    return _power_of_two(min(situation.target_tokens / _BATCHES_PER_EPOCH, largest / 2), smallest, largest)


def choose_recipe(size: Size, situation: Situation, tokens_per_second: float) -> Recipe:
    """Choose batch size and regularisation for a size, by the number of epochs that the time allows."""
    epochs = situation.epochs(tokens_per_second)
    most_epochs = _below(_MOST_EPOCHS, situation.num_pairs)
    r_drop, dropout, why = _regularisation(situation, epochs, most_epochs)
    cost = 2 if r_drop else 1
    total = (min(epochs / cost, most_epochs) if r_drop else epochs) * situation.target_tokens
    smallest, largest = _BATCHES[situation.device]
    batch = choose_batch(total, situation.target_tokens, largest, smallest, _UPDATES[situation.device])
    model = Choice("model", str(size), _why_size(situation, epochs), size.settings)
    batches = Choice(
        "batch",
        f"{batch:,} target tokens",
        _why_batch(batch, total, situation),
        {"training.batch_tokens": batch},
    )
    noise = Choice(
        "regularisation",
        f"dropout {dropout:g}, R-Drop {r_drop:g}" if r_drop else f"dropout {dropout:g}",
        why,
        {"model.dropout": dropout, "training.r_drop": r_drop, "training.label_smoothing": 0.1},
    )
    return Recipe(size, batch, r_drop, most_epochs, (model, batches, noise))


def _why_size(situation: Situation, epochs: float) -> str:
    if situation.num_pairs < _TINY:
        return f"the smallest, because {situation.num_pairs:,} pairs are too few for a larger model"
    return f"the largest that {'the text' if epochs >= _ENOUGH_EPOCHS else 'the time'} is enough for"


def choose_batch(
    total: float | None, tokens_per_epoch: float, largest: int, smallest: int = 512, updates: int = 2_000
) -> int:
    """Return the batch size that gives enough updates: in the run (of `total` tokens, if known) and in each epoch."""
    tokens = min(tokens_per_epoch / _BATCHES_PER_EPOCH, largest if total is None else total / updates)
    return _power_of_two(tokens, smallest, largest)


def choose_dropout(num_pairs: int, epochs: float) -> float:
    """Return the dropout without R-Drop: more if little text is read often."""
    if epochs < _FEW_EPOCHS:
        return 0.1
    return 0.3 if num_pairs < 60_000 else 0.2


def _why_batch(batch: int, total: float, situation: Situation) -> str:
    """Return the reason for a batch size. The number of updates follows later, when their speed is measured."""
    smallest, largest = _BATCHES[situation.device]
    if batch in (smallest, largest):
        return f"the {'largest' if batch == largest else 'smallest'} that this device uses well"
    if situation.target_tokens / _BATCHES_PER_EPOCH < total / _UPDATES[situation.device]:
        return f"about {_BATCHES_PER_EPOCH} batches or more in each epoch"
    return "small, because many updates are needed in the time"


def _regularisation(situation: Situation, epochs: float, most_epochs: float) -> tuple[float, float, str]:
    """Return R-Drop, dropout and the reason."""
    num_pairs = situation.num_pairs
    if epochs < 3:
        return 0.0, 0.0, "few epochs: nothing is read often enough to be memorised"
    if epochs < _FEW_EPOCHS:
        return 0.0, 0.1, "not many epochs: little risk of overfitting"
    if situation.device == "cpu" and epochs < 2 * most_epochs:
        return 0.0, 0.1, "R-Drop would halve the number of updates, and small models learn slowly with much dropout"
    r_drop, dropout = (5.0, 0.3) if num_pairs < 60_000 else (3.0, 0.2)
    return r_drop, dropout, f"{num_pairs:,} pairs are read many times: much regularisation prevents overfitting"


def choose_rate(d_model: int, batch_tokens: int, *, is_post_norm: bool = False) -> float:
    """Return the peak learning rate: lower for wide models and for small batches."""
    peak = min(_RATE / d_model, _HIGHEST_RATE) * (_POST_NORM if is_post_norm else 1.0)
    return float(f"{peak * min(1.0, math.sqrt(batch_tokens / _RATE_BATCH)):.2g}")


def choose_warm_up(updates: int) -> int:
    """Return the length of the warm-up: an eighth of the run."""
    return min(_LONGEST_WARM_UP, max(1, updates // 8))


def choose_updates(
    most_epochs: float, situation: Situation, seconds_per_update: float, tokens_per_update: float
) -> int:
    """Return the number of updates that fit the time, but not more than the text is worth."""
    useful = most_epochs * situation.target_tokens / tokens_per_update
    return max(1, int(min(situation.seconds / seconds_per_update, useful)))


def choose_schedule(recipe: Recipe, updates: int, epochs: float) -> tuple[Choice, ...]:
    """Choose everything that follows from the number of updates."""
    warm_up = choose_warm_up(updates)
    rate = choose_rate(recipe.size.d_model, recipe.batch_tokens)
    optimiser = "muon" if updates < _MUON_UPDATES and not recipe.r_drop else "adamw"
    why = f"for width {recipe.size.d_model} and batches of {recipe.batch_tokens:,}"
    why += "; Muon learns most in few updates" if optimiser == "muon" else ""
    horizon = min(1000, max(5, updates // 10))
    return (
        Choice(
            "length",
            f"{updates:,} updates",
            f"{epochs:.1f} epochs" if epochs < 10 else f"{epochs:.0f} epochs",
            {"training.steps": updates},
        ),
        Choice(
            "rate",
            f"{rate:g} with {'Muon' if optimiser == 'muon' else 'AdamW'}",
            why,
            {"training.rate": rate, "training.optimiser": optimiser},
        ),
        Choice(
            "schedule",
            f"warm-up {warm_up:,}, then cosine",
            "an eighth of the run, then down to 0 at its end",
            {"training.warm_up": warm_up, "training.schedule": "cosine"},
        ),
        Choice(
            "average",
            f"ema over {horizon:,} updates",
            "averaged weights vary less than the last ones",
            {"training.average": "ema", "training.ema_decay": round(1 - 1 / horizon, 5)},
        ),
    )


def _power_of_two(tokens: float, smallest: int, largest: int) -> int:
    """Return the nearest power of two between two bounds."""
    return min(largest, max(smallest, 1 << round(math.log2(max(tokens, 1)))))


def fill_defaults(config: RunConfig, store: PairStore) -> RunConfig:
    """Return the config with a value for every setting whose default depends on the run."""
    training, tokens = config.training, _tokens_per_epoch(config, store)
    batch = training.batch_tokens
    if batch is None:
        total = None if training.epochs is None else training.epochs * tokens
        batch = choose_batch(total, tokens, _MOST_TOKENS if total is None else _EPOCHS_MOST_TOKENS)
    tokens_per_update = _FULL * batch * training.accumulate
    updates = training.steps
    if updates is None:
        updates = max(1, round((training.epochs or 1) * tokens / tokens_per_update))
    warm_up = choose_warm_up(updates) if training.warm_up is None else training.warm_up
    rate = _rate(config, batch * training.accumulate) if training.rate is None else training.rate
    chosen = training.model_copy(update={"batch_tokens": batch, "warm_up": warm_up, "rate": rate})
    model = dict(config.model)
    if config.task == "translate" and training.init_from is None and "dropout" not in {**_preset(config), **model}:
        model["dropout"] = choose_dropout(len(store), updates * tokens_per_update / tokens)
    return config.model_copy(update={"training": chosen, "model": model})


def keep_defaults(config: RunConfig, started: RunConfig) -> RunConfig:
    """Return a config with the defaults that were chosen when its run was started."""
    names = ("batch_tokens", "warm_up", "rate")
    earlier_values: dict[str, Any] = {
        name: getattr(started.training, name) for name in names if getattr(config.training, name) is None
    }
    model = config.model
    if "dropout" in started.model and "dropout" not in model:
        model = {**model, "dropout": started.model["dropout"]}
    return config.model_copy(update={"training": config.training.model_copy(update=earlier_values), "model": model})


def _rate(config: RunConfig, batch_tokens: int) -> float:
    if config.training.init_from is not None:
        return _TUNING_RATE
    if config.task != "translate":
        return _OTHER_RATE
    sizes = {name: ModelConfig.model_fields[name].default for name in ("d_model", "norm_place")}
    sizes |= {**_preset(config), **config.model}
    return choose_rate(sizes["d_model"], batch_tokens, is_post_norm=sizes["norm_place"] == "post")


def _preset(config: RunConfig) -> Mapping[str, Any]:
    """Return the settings of the preset, in the architecture of the model."""
    return presets_of(config.model.get("architecture"))[config.preset]


def _tokens_per_epoch(config: RunConfig, store: PairStore) -> float:
    """Return the target tokens of an epoch (of a classifier: source tokens), with the weights of the corpora."""
    lengths = store.source.lengths if config.task == "classify" else store.target.lengths
    by_corpus = np.bincount(store.corpus, weights=lengths, minlength=len(config.data.train))
    weights = [corpus.weight for corpus in config.data.train]
    return max(1.0, float(np.dot(by_corpus, weights)))

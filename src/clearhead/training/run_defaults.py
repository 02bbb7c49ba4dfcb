"""Defaults that depend on the run: batch size, learning rate, warm-up and dropout follow its length and its text.

They are chosen once, when the text has been read, and written to the config of the run: a resumed run keeps them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from clearhead.data.store import PairStore
from clearhead.model.architecture import presets_of
from clearhead.model.config import ModelConfig
from clearhead.training.config import RunConfig
from clearhead.training.plan_rule import choose_batch, choose_dropout, choose_rate, choose_warm_up

_MOST_TOKENS, _EPOCHS_MOST_TOKENS = 4096, 8192  # of a batch, with `steps` and with `epochs`
_FULL = 0.95  # share of a packed batch that is not padding
_OTHER_RATE, _TUNING_RATE = 1e-3, 1e-4


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

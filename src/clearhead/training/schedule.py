"""The learning-rate schedule: a linear warm-up, then a decay. The rate depends only on the number of the update."""

import math

from clearhead.training.config import TrainingConfig


def rate_at(step: int, config: TrainingConfig, total: int | None) -> float:
    """Return the learning rate of update `step`, counted from 1, of `total` planned updates.

    inverse_sqrt   rate · √(warm_up / step)
    cosine         rate · (f + (1 - f) (1 + cos(π t)) / 2), where t is the finished share of the decay, f = final_rate
    linear         rate · (f + (1 - f) (1 - t))
    """
    if step < config.warm_up_steps:
        return config.peak_rate * step / config.warm_up_steps
    if config.schedule == "constant":
        return config.peak_rate
    if config.schedule == "inverse_sqrt":
        return config.peak_rate * math.sqrt(max(config.warm_up_steps, 1) / max(step, 1))
    assert total is not None, "cosine and linear need the total number of updates"
    gone = min(1.0, (step - config.warm_up_steps) / max(1, total - config.warm_up_steps))
    remaining = (1 + math.cos(math.pi * gone)) / 2 if config.schedule == "cosine" else 1 - gone
    return config.peak_rate * (config.final_rate + (1 - config.final_rate) * remaining)

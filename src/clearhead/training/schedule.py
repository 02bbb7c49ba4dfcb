"""The learning rate at each update: a climb, then a fall. It depends on the number of the update and nothing else."""

import math

from clearhead.training.config import TrainingConfig


def rate_at(step: int, config: TrainingConfig, total: int | None) -> float:
    """Return the rate of an update, counted from 1; `total` updates are planned.

    inverse_sqrt   rate · √(warm_up / step)
    cosine         rate · (f + (1 - f) (1 + cos(π t)) / 2), where t is the share of the fall that is over
    linear         rate · (f + (1 - f) (1 - t))
    """
    if step < config.warm_up:
        return config.rate * step / config.warm_up
    if config.schedule == "constant":
        return config.rate
    if config.schedule == "inverse_sqrt":
        return config.rate * math.sqrt(max(config.warm_up, 1) / max(step, 1))
    assert total is not None, "a fall to an end needs to know where the end is"
    gone = min(1.0, (step - config.warm_up) / max(1, total - config.warm_up))
    remaining = (1 + math.cos(math.pi * gone)) / 2 if config.schedule == "cosine" else 1 - gone
    return config.rate * (config.final_rate + (1 - config.final_rate) * remaining)

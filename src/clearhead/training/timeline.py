"""The timeline of a run as text: its place in the warm-up and schedule, and when to expect which results.

Pure functions of the progress and the settings. Every line of text fits 100 columns.
"""

from dataclasses import dataclass

from clearhead.training.config import RunConfig

_RESULTS = {"translate": "translations", "classify": "predictions", "language-model": "predictions"}

_LONG = 1200  # seconds without a score
_PATIENCE = (
    "Warning: this config is slow on this device, and shows no score for a long time. If you give",
    "the text files instead of a config, all settings are chosen for this device and your time.",
)


@dataclass(frozen=True)
class Timeline:
    """The settings that determine when things happen in a run of `total` updates."""

    config: RunConfig
    total: int

    def phase(self, step: int) -> str:
        """Return the place of an update in the schedule: `warm-up 300/4,000`, `cosine 21 %`, `inverse_sqrt`."""
        training = self.config.training
        if step <= training.warm_up_steps:
            return f"warm-up {step:,}/{training.warm_up_steps:,}"
        if training.schedule in ("inverse_sqrt", "constant"):
            return training.schedule
        share = (step - training.warm_up_steps) / max(1, self.total - training.warm_up_steps)
        return f"{training.schedule} {int(100 * min(1.0, share))} %"

    def next_validation(self, step: int) -> int | None:
        """Return the first update after `step` that is validated, or None if there is none."""
        if self.config.data.valid is None or step >= self.total:
            return None
        every, after = self.config.validation.every, self.config.validation.after
        due = max(step // every + 1, -(-after // every)) * every
        return min(due, self.total)  # the last update is always validated

    def num_validations(self, step: int) -> int:
        """Return the number of validations after `step`."""
        first = self.next_validation(step)
        if first is None:
            return 0
        return 1 if first == self.total else 2 + (self.total - 1 - first) // self.config.validation.every

    def expectations(self, step: int, seconds_per_update: float) -> list[str]:
        """Return when to expect validations and useful results at the measured speed, as lines of text."""
        if step >= self.total:
            return []

        def after(update: int) -> str:
            return f"update {update:,}, in about {duration(seconds_per_update * (update - step))}"

        training, results = self.config.training, _RESULTS[self.config.task]
        validation = self.next_validation(step)
        if validation is not None:
            number = "First" if validation == self.next_validation(0) else "Next"
            lines = [f"{number} validation after {after(validation)}."]
            if seconds_per_update * (validation - step) > _LONG:
                lines += _PATIENCE
        else:
            checkpoint = min((step // training.checkpoint_every + 1) * training.checkpoint_every, self.total)
            lines = [f"No validation set (data.valid). Next checkpoint to try after {after(checkpoint)}."]
        if training.init_from is not None:
            return lines  # its results are useful from the start
        if step >= training.warm_up_steps:
            shown_by = "The checkpoints" if validation is None else "The validation scores"
            return [*lines, f"The warm-up is over. {shown_by} will show when {results} become useful."]
        if training.warm_up_steps > self.total:
            return [*lines, f"The learning rate rises until the end of the run: expect poor {results}."]
        return [
            *lines,
            f"The learning rate rises until {after(training.warm_up_steps)}: expect poor {results} until then.",
        ]


def duration(seconds: float) -> str:
    """Return a rounded duration: 40 s, 9 min, 2.5 h, 37 h, 3.1 days."""
    units = ((90, 1, "s", 0), (5400, 60, "min", 0), (36_000, 3600, "h", 1), (172_800, 3600, "h", 0))
    for limit, size, unit, digits in units:
        if seconds < limit:
            return f"{max(seconds, 1) / size:.{digits}f} {unit}"
    return f"{seconds / 86_400:.1f} days"

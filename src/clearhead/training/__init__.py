"""Training: the loop, learning-rate schedule, checkpoints and run folder that turn parallel text into a model."""

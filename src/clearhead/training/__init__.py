"""From parallel text to a trained model: the loop, its schedule, its checkpoints, its run folder."""

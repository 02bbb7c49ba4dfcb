"""Files in and out: traces, checkpoints and the formats of other toolkits."""

"""The film of a run: how the translations and the attention of pinned sentences change during the training."""

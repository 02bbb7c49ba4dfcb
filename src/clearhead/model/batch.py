"""A batch of ids, and the check whether a model can read it. The check reads every id, so it is done on input data.

`forward` itself checks only lengths: reading ids would wait for the device and break compilation.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.errors import DataError
from clearhead.model.config import ModelConfig
from clearhead.model.positions import packed_places


class Batch(NamedTuple):
    """Ids of sentences, padded on the right. A sentence ends with eos. `target` is what the decoder has to write.

    `is_padded=False` promises that there is no padding, so no mask is needed. Where several sentences share a row,
    `source_sentences` and `target_sentences` hold the number of each token's sentence: 1, 2, …, and 0 for padding.
    """

    source: Tensor | None = None  # (B, S)
    target: Tensor | None = None  # (B, T)
    labels: Tensor | None = None  # (B,), for a classifier
    is_padded: bool = True
    source_sentences: Tensor | None = None  # (B, S)
    target_sentences: Tensor | None = None  # (B, T)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        sides = (self.source, self.target)
        return next(len(side) for side in sides if side is not None)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """Return the batch with `change` applied to every tensor."""

        def side(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else change(tensor)

        sentences = side(self.source_sentences), side(self.target_sentences)
        return Batch(side(self.source), side(self.target), side(self.labels), self.is_padded, *sentences)


def check_batch(batch: Batch, config: ModelConfig) -> None:
    """Raise DataError with every reason why the model cannot read the batch."""
    mistakes = [*_side_mistakes("source", batch, config), *_side_mistakes("target", batch, config)]
    if batch.labels is not None and not mistakes:
        mistakes += _label_mistakes(batch, config)
    if (
        not mistakes
        and batch.source is not None
        and batch.target is not None
        and len(batch.source) != len(batch.target)
    ):
        mistakes.append(
            f"the source has {_count(len(batch.source), 'sentence')} and the target {len(batch.target)}. "
            "Sentence i of the target translates sentence i of the source: give both the same number."
        )
    if mistakes:
        raise DataError(" ".join(mistakes))


def check_length(length: int, config: ModelConfig, side: str) -> None:
    """Raise DataError for a sentence that is longer than the model's table of positions."""
    if config.has_position_table and length > config.max_length:
        raise DataError(
            f"the {side} is {length} tokens long, and this model has positions for {config.max_length}. "
            "Shorten or split it, or train a model with a larger max_length."
        )


def _side_mistakes(side: str, batch: Batch, config: ModelConfig) -> Iterator[str]:
    ids: Tensor | None = getattr(batch, side)
    is_read = config.shape in ("encoder-decoder", "encoder" if side == "source" else "decoder")
    if ids is None or not is_read:
        if is_read:
            yield f"the batch has no {side}, which a model of shape {config.shape} reads. Give ids as {side}."
        elif ids is not None:
            yield f"the batch has a {side}, which a model of shape {config.shape} does not read. Remove the {side}."
        return
    if ids.dtype != torch.int64:
        yield f"the {side} has dtype {ids.dtype}, but ids must be torch.int64. Use {side}.long()."
        return
    if ids.dim() != 2 or 0 in ids.shape:
        yield f"the {side} has the shape {tuple(ids.shape)}. Give (sentences, tokens), at least one of each."
        return
    sentences: Tensor | None = getattr(batch, f"{side}_sentences")
    if sentences is not None and (mistake := _packing_mistake(side, ids, sentences, config)):
        yield mistake
        return
    try:
        check_length(ids.shape[1] if sentences is None else int(packed_places(sentences).max()) + 1, config, side)
    except DataError as wrong:
        yield str(wrong)
    yield from _id_mistakes(side, ids, config.source_vocabulary if side == "source" else config.target_size)
    yield from _padding_mistakes(side, ids, config.pad, is_padded=batch.is_padded)


def _id_mistakes(side: str, ids: Tensor, vocabulary: int) -> Iterator[str]:
    strange = (ids < 0) | (ids >= vocabulary)
    if strange.any():
        row, column = strange.nonzero()[0].tolist()
        number = int(strange.sum())
        others = f" (and {_count(number - 1, 'other')})" if number > 1 else ""
        yield (
            f"{side}[{row}, {column}] = {int(ids[row, column])}{others} is not in a vocabulary of {vocabulary} tokens, "
            f"which has the ids 0 to {vocabulary - 1}. Was the text tokenised with this model's tokeniser?"
        )


def _packing_mistake(side: str, ids: Tensor, sentences: Tensor, config: ModelConfig) -> str | None:
    """Return the error in the sentence numbers of packed rows, or None."""
    if not config.can_pack_rows:
        why = "encoder_norm = 'all' averages over"
        if config.shape == "encoder" or config.architecture != "transformer":
            why = "a classifier reads" if config.shape == "encoder" else f"a {config.architecture} model reads"
        return f"the {side} has several sentences in a row, but {why} entire rows. Give each sentence its own row."
    if sentences.shape != ids.shape:
        return f"{side}_sentences has the shape {tuple(sentences.shape)}, but the {side} has {tuple(ids.shape)}."
    if ((sentences == 0) != (ids == config.pad)).any():
        return f"{side}_sentences must be 0 exactly where the {side} is padding (id {config.pad}), and it is not."
    return None


def _padding_mistakes(side: str, ids: Tensor, pad: int, *, is_padded: bool) -> Iterator[str]:
    real = ids != pad
    empty = (~real.any(dim=1)).nonzero().flatten().tolist()
    if empty:
        yield (
            f"{side}[{empty[0]}] contains only padding (id {pad}). A sentence ends with eos, so even an "
            "empty one has a token: remove the row."
        )
    gaps = (~real[:, :-1] & real[:, 1:]).any(dim=1).nonzero().flatten().tolist()
    if gaps:
        yield f"{side}[{gaps[0]}] has padding (id {pad}) before a token. Pad sentences on the right."
    if not is_padded and not real.all() and not empty:
        yield f"the batch has is_padded = False, but its {side} contains padding (id {pad}). Remove is_padded."


def _label_mistakes(batch: Batch, config: ModelConfig) -> Iterator[str]:
    labels, classes = batch.labels, config.num_classes
    assert labels is not None
    if classes is None or batch.source is None:
        yield f"the batch has labels, which a model of shape {config.shape} does not read. Remove them."
    elif labels.dtype != torch.int64 or labels.shape != batch.source.shape[:1]:
        yield (
            f"the labels have dtype {labels.dtype} and shape {tuple(labels.shape)}. "
            f"Give one torch.int64 for each of {_count(len(batch.source), 'sentence')}."
        )
    elif ((labels < 0) | (labels >= classes)).any():
        row = int(((labels < 0) | (labels >= classes)).nonzero()[0])
        yield f"labels[{row}] = {int(labels[row])} is not one of {classes} classes, which are 0 to {classes - 1}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> Tensor:
    """Return rows of ids as one tensor (B, T), padded on the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)

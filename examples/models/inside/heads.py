"""Choose the heads to show: the cross-attention head that aligns best, and the head whose mask hides most.

No reference alignment is needed: links are compared with the effect of removing each source token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.decoding.alignment import CrossAttention, Head, cross_attention
from clearhead.decoding.annotation import existing_head
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.scoring import token_log_probs
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links
from clearhead.errors import DataError
from clearhead.model import Batch, Transformer
from clearhead.text.tokeniser import Vocabularies


@dataclass(frozen=True)
class Ids:
    """A sentence and its translation as token ids, both with the end token."""

    sentence: str
    text: str
    source: tuple[int, ...]
    target: tuple[int, ...]
    has_ended: bool

    @property
    def batch(self) -> Batch:
        """The pair as a batch of one."""
        return Batch(torch.tensor([self.source]), torch.tensor([self.target]))


@dataclass(frozen=True)
class Heads:
    """The cross-attention head whose steps are shown, and the self-attention head whose mask is shown.

    `is_shifted`: a token is aligned at the position where it is the input, otherwise where it is predicted. Of the
    `num_links` links of the head, `num_agreeing` are to the source token that the target token needs most.
    """

    across: Head
    own: Head
    is_shifted: bool
    num_agreeing: int
    num_links: int
    is_requested: bool = False

    @property
    def across_place(self) -> str:
        """The path of the cross-attention head in a trace."""
        return f"decoder.{self.across.block}.cross_attention.head.{self.across.head}"

    @property
    def own_place(self) -> str:
        """The path of the self-attention head in a trace."""
        return f"decoder.{self.own.block}.self_attention.head.{self.own.head}"


def translated(model: Transformer, vocabularies: Vocabularies, sentences: Sequence[str]) -> list[Ids]:
    """Translate sentences; return the exact tokens that the model wrote."""
    eos, pairs = model.config.eos, []
    for translation in Translator(vocabularies, TorchEngine(model)).translate(sentences):
        sentence = translation.source
        if not translation.hypotheses or len(translation.parts) > 1:
            raise DataError(f"'{sentence}' is empty, or longer than the model can read. Remove it.")
        best = translation.hypotheses[0]
        source = (*vocabularies.source.encode([sentence])[0], eos)
        target = best.tokens if best.has_ended else (*best.tokens[:-1], eos)
        if len(target) < 2:
            raise DataError(f"the translation of '{sentence}' is empty, so there is no word to look at. Remove it.")
        pairs.append(Ids(sentence, vocabularies.target.decode([target])[0], source, target, best.has_ended))
    return pairs


@torch.inference_mode()
def choose_heads(model: Transformer, pairs: Sequence[Ids], wanted_head: Head | None = None) -> Heads:
    """Choose the head that links tokens most often to the source token they need most, and the most masked head.

    `wanted_head` is a cross-attention head to use, or a layer from which the best head is chosen.
    """
    existing_head(model.config, wanted_head)
    needed = [costliest(model, pair) for pair in pairs]
    attentions = [cross_attention(model, torch.tensor(pair.source), [pair.target[:-1]])[0] for pair in pairs]
    choices = [head for head in _all_heads(model) if wanted_head is None or _is_wanted(head, wanted_head)]
    agreeing = {
        (head.block, head.head, is_shifted): sum(
            len(set(head_links(attention, head, is_shifted)) & set(needed_links))
            for attention, needed_links in zip(attentions, needed, strict=True)
        )
        for head in choices
        for is_shifted in (True, False)
    }
    block, number, is_shifted = max(agreeing, key=agreeing.__getitem__)
    return Heads(
        Head(block, number),
        _most_masked(model, pairs),
        is_shifted,
        agreeing[block, number, is_shifted],
        sum(map(len, needed)),
        wanted_head is not None,
    )


def _all_heads(model: Transformer) -> list[Head]:
    config = model.config
    return [Head(block, head) for block in range(config.decoder_blocks) for head in range(config.num_heads)]


def _is_wanted(head: Head, wanted_head: Head) -> bool:
    return head.block == wanted_head.block and wanted_head.head in (None, head.head)


def links(weights: Tensor) -> Links:
    """Link each target token to the source token it attends to most; return (source, target) positions."""
    return tuple((int(place), number) for number, place in enumerate(weights.argmax(-1).tolist()))


def head_links(attention: CrossAttention, head: Head, is_shifted: bool) -> Links:
    """Return the links of one head; the end token of the source is not linked."""
    return links(attention.rows(head, is_shifted=is_shifted)[:, :-1])


def costliest(model: Transformer, pair: Ids) -> Links:
    """Link each target token to the source token whose removal lowers its probability most."""
    target = torch.tensor([pair.target])
    places = range(len(pair.source) - 1)  # the end token is not removed
    shorter = torch.tensor([[*pair.source[:place], *pair.source[place + 1 :]] for place in places])
    with_all = token_log_probs(model, torch.tensor([pair.source]), target)  # (1, T)
    without = token_log_probs(model, shorter, target.expand(len(shorter), -1))  # (S, T)
    return links((with_all - without).T[:-1])


def _most_masked(model: Transformer, pairs: Sequence[Ids]) -> Head:
    hidden: dict[str, float] = {}
    for pair in pairs:
        _, trace = model.trace(pair.batch, only="decoder.*.self_attention")
        for record in trace.find("scale"):
            hidden[record.where] = hidden.get(record.where, 0.0) + future_share(record.value[0])
    words = max(hidden, key=hidden.__getitem__).split(".")
    return Head(int(words[1]), int(words[-1]))


def future_share(scaled: Tensor) -> float:
    """Return the share of the weights that a head would give to later tokens without the mask."""
    return float(torch.softmax(scaled, dim=-1).triu(diagonal=1).sum()) / len(scaled)

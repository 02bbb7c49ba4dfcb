"""Which heads are worth a look: the one of cross-attention that aligns best, and the one whose mask hides most.

No reference alignment is needed: links are compared with what it costs to leave a source token out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.decoding.alignment import CrossAttention, Head, cross_attention, links
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.scoring import token_log_probs
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links
from clearhead.errors import ConfigError, DataError
from clearhead.model import Batch, Transformer
from clearhead.text.tokeniser import Vocabularies


@dataclass(frozen=True)
class Ids:
    """A sentence and its translation as the model reads and writes them, both with their ends."""

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
    """The head of cross-attention that is worked, and the head of self-attention whose mask is shown.

    `is_shifted` says that the row that reads a token aligns it, else the row that writes it. So many of its links,
    `num_agreeing` of `num_links`, are to the source token without which the target token would lose most.
    """

    across: Head
    own: Head
    is_shifted: bool
    num_agreeing: int
    num_links: int
    is_asked: bool = False

    @property
    def across_place(self) -> str:
        """Where the first is in a trace."""
        return f"decoder.{self.across.block}.cross_attention.head.{self.across.head}"

    @property
    def own_place(self) -> str:
        """Where the second is in a trace."""
        return f"decoder.{self.own.block}.self_attention.head.{self.own.head}"


def translated(model: Transformer, vocabularies: Vocabularies, sentences: Sequence[str]) -> list[Ids]:
    """Translate sentences, and keep the very tokens that were written."""
    eos, pairs = model.config.eos, []
    for translation in Translator(vocabularies, TorchEngine(model)).translate(sentences):
        sentence = translation.source
        if not translation.hypotheses or len(translation.parts) > 1:
            raise DataError(f"'{sentence}' is empty, or longer than the model can read. Leave it out.")
        best = translation.hypotheses[0]
        source = (*vocabularies.source.encode([sentence])[0], eos)
        target = best.tokens if best.has_ended else (*best.tokens[:-1], eos)
        if len(target) < 2:
            raise DataError(
                f"'{sentence}' was translated by nothing, so that there is no word to look at. Leave it out."
            )
        pairs.append(Ids(sentence, vocabularies.target.decode([target])[0], source, target, best.has_ended))
    return pairs


@torch.inference_mode()
def choose_heads(model: Transformer, pairs: Sequence[Ids], wanted_head: Head | None = None) -> Heads:
    """Return the head that links tokens most often to what they need most, and the one that is masked most.

    `wanted_head` names a head of cross-attention, or a block whose best one is taken.
    """
    needed = [costliest(model, pair) for pair in pairs]
    attentions = [cross_attention(model, torch.tensor(pair.source), [pair.target[:-1]])[0] for pair in pairs]
    choices = [head for head in _all_heads(model) if wanted_head is None or _is_wanted(head, wanted_head)]
    if not choices:
        config = model.config
        assert wanted_head is not None
        raise ConfigError(
            f"the decoder has blocks 0 to {config.decoder_blocks - 1} with heads 0 to {config.num_heads - 1}, and "
            f"{wanted_head.block}{'' if wanted_head.head is None else f'.{wanted_head.head}'} is asked for."
        )
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


def head_links(attention: CrossAttention, head: Head, is_shifted: bool) -> Links:
    """Return the links of one head; the end of the source is not linked."""
    return links(attention.rows(head, is_shifted=is_shifted)[:, :-1])


def costliest(model: Transformer, pair: Ids) -> Links:
    """Return for each written token the source token without which it would be least likely."""
    target = torch.tensor([pair.target])
    places = range(len(pair.source) - 1)  # the end stays
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
    """Return how much of its weights a head would give to tokens that are not written yet, had it no mask."""
    return float(torch.softmax(scaled, dim=-1).triu(diagonal=1).sum()) / len(scaled)

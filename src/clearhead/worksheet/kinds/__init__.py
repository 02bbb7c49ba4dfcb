"""Every kind of problem, by the name that a problem file gives it; a kind is loaded when it is first asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from clearhead.worksheet.problem import Problem

_HOMES = {
    "seq2seq-attention": "seq2seq.Seq2SeqAttention",
    "self-attention": "attention.SelfAttention",
    "masked-self-attention": "attention.MaskedSelfAttention",
    "cross-attention": "attention.CrossAttention",
    "multi-head-attention": "attention.MultiHeadAttention",
    "positions": "positions.Positions",
    "context": "context.Context",
    "add-and-norm": "add_norm.AddAndNorm",
    "feed-forward": "blocks.FeedForward",
    "encoder-block": "blocks.EncoderBlock",
    "decoder-block": "blocks.DecoderBlock",
    "transformer": "transformer.Transformer",
    "word-vectors": "word_vectors.WordVectors",
    "recurrent": "sequence.Recurrent",
    "convolution": "sequence.Convolution",
    "parts": "parts.Parts",
}


class _Kinds(Mapping[str, type[Problem]]):
    """Look up a kind, loading its file; a student who solves one kind does not wait for the others."""

    def __getitem__(self, kind: str) -> type[Problem]:
        module, _, name = _HOMES[kind].partition(".")
        found: type[Problem] = getattr(import_module(f"clearhead.worksheet.kinds.{module}"), name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


KINDS: Mapping[str, type[Problem]] = _Kinds()

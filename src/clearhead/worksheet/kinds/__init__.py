"""All kinds of problems by name; the module of a kind is imported when the kind is first used."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from clearhead.worksheet.problem import Problem

_CLASSES = {
    "seq2seq-attention": "seq2seq.Seq2SeqAttentionProblem",
    "self-attention": "attention.SelfAttentionProblem",
    "masked-self-attention": "attention.MaskedSelfAttentionProblem",
    "cross-attention": "attention.CrossAttentionProblem",
    "multi-head-attention": "attention.MultiHeadAttentionProblem",
    "positions": "positions.PositionsProblem",
    "context": "context.ContextProblem",
    "add-and-norm": "add_norm.AddAndNormProblem",
    "dense-layer": "dense.DenseLayerProblem",
    "feed-forward": "blocks.FeedForwardProblem",
    "encoder-block": "blocks.EncoderBlockProblem",
    "decoder-block": "blocks.DecoderBlockProblem",
    "transformer": "transformer.TransformerProblem",
    "word-vectors": "word_vectors.WordVectorsProblem",
    "recurrent": "recurrent.RecurrentProblem",
    "convolution": "convolution.ConvolutionProblem",
    "softmax": "softmax.SoftmaxProblem",
    "parts": "parts.PartsProblem",
}


class _Kinds(Mapping[str, type[Problem]]):
    """Look up a kind and import its module, so that solving one kind does not wait for the others."""

    def __getitem__(self, kind: str) -> type[Problem]:
        module, _, name = _CLASSES[kind].partition(".")
        problem_class: type[Problem] = getattr(import_module(f"clearhead.worksheet.kinds.{module}"), name)
        return problem_class

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


KINDS: Mapping[str, type[Problem]] = _Kinds()

"""Every kind of problem, by the name that a problem file gives it."""

from collections.abc import Mapping

from clearhead.worksheet.kinds.add_norm import AddAndNorm
from clearhead.worksheet.kinds.attention import CrossAttention, MaskedSelfAttention, MultiHeadAttention, SelfAttention
from clearhead.worksheet.kinds.blocks import DecoderBlock, EncoderBlock, FeedForward
from clearhead.worksheet.kinds.context import Context
from clearhead.worksheet.kinds.parts import Parts
from clearhead.worksheet.kinds.positions import Positions
from clearhead.worksheet.kinds.seq2seq import Seq2SeqAttention
from clearhead.worksheet.kinds.sequence import Convolution, Recurrent
from clearhead.worksheet.kinds.transformer import Transformer
from clearhead.worksheet.kinds.word_vectors import WordVectors
from clearhead.worksheet.problem import Problem

KINDS: Mapping[str, type[Problem]] = {
    str(problem.model_fields["kind"].default): problem
    for problem in (
        Seq2SeqAttention,
        SelfAttention,
        MaskedSelfAttention,
        CrossAttention,
        MultiHeadAttention,
        Positions,
        Context,
        AddAndNorm,
        FeedForward,
        EncoderBlock,
        DecoderBlock,
        Transformer,
        WordVectors,
        Recurrent,
        Convolution,
        Parts,
    )
}

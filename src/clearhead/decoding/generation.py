"""Continue texts with a language model: greedy search, beam search or sampling, after a prompt.

`token_choices` shows how probable every token of a continuation was, and which others were.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clearhead.decoding.engines.engine import DeviceName, Precision
from clearhead.decoding.engines.torch_engine import load_model
from clearhead.decoding.search.beam import search_with
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper
from clearhead.decoding.unknown_words import unknown_words
from clearhead.errors import ConfigError, DataError
from clearhead.files.line_input import OnFault
from clearhead.formats.model_folder import ModelFolder, find_model, load_vocabularies
from clearhead.model import SequenceModel
from clearhead.model.modes import evaluation_mode
from clearhead.steps import NO_TRACE, Tracer
from clearhead.text.tokeniser import Vocabularies

OnText = Callable[[str], None]  # receives the continuation so far
WINDOW = 256  # prompts in memory at a time
_MAX_ROWS = 64  # prompts in a batch


class TextStepper(Stepper):
    """A model without an encoder that has read prompts (B, P) of one length, each with its start token.

    The log-probabilities and rules of a search concern only what follows the prompts. `on_step` receives the tokens
    (B, K, T) of the continuations so far, before each step.
    """

    def __init__(self, model: SequenceModel, prompts: Tensor, on_step: Callable[[Tensor], None] | None = None) -> None:
        self.model, self.hidden, self.memory = model, None, None
        self.cache = model.start_beams(None, len(prompts), prompts.device)
        for place in range(prompts.shape[1] - 1):  # the last token is read by the first step
            model.decode_states(prompts[:, place : place + 1], None, self.cache)
        self._last, self._on_step = prompts[:, -1:], on_step

    def step(self, tokens: Tensor, trace: Tracer = NO_TRACE) -> Tensor:
        """Read the last token of every continuation (B, K, T); return log P of every next token: (B, K, V)."""
        if self._on_step is not None:
            self._on_step(tokens)
        return super().step(tokens, trace)

    def _first(self, tokens: Tensor) -> Tensor:
        return self._last

    def keep(self, rows: Tensor) -> None:
        """Keep only the texts at `rows`."""
        super().keep(rows)
        self._last = self._last[rows]


@dataclass(frozen=True)
class WrittenText:
    """One continuation of a prompt: its text, with the space at its start if there is one, and its tokens."""

    text: str
    hypothesis: Hypothesis


@dataclass(frozen=True)
class GeneratedText:
    """The continuations of one prompt, best first."""

    number: int  # of the line, from 1
    prompt: str
    prompt_ids: tuple[int, ...]
    continuations: tuple[WrittenText, ...]
    unknown_words: tuple[str, ...] = ()  # of the prompt, that the vocabulary does not have

    def text_of(self, rank: int) -> str:
        """Return the prompt with a continuation."""
        return self.prompt.rstrip() + self.continuations[rank].text


@dataclass(frozen=True, eq=False)
class TextGenerator:
    """A language model with its vocabulary.

    A prompt that is empty or too long raises DataError (`on_fault="refuse"`) or is not continued (`"skip"`).
    """

    model: SequenceModel
    vocabularies: Vocabularies
    on_fault: OnFault = "refuse"

    def generate(
        self,
        prompts: Iterable[str],
        settings: SearchSettings = SearchSettings(),
        *,
        window: int = WINDOW,
        on_text: OnText | None = None,
        first: int = 1,
    ) -> Iterator[GeneratedText | None]:
        """Yield the continuations of every prompt, in order; None for a prompt that is skipped.

        `settings.max_length` is the most tokens of a continuation, with the end token. `on_text` receives the text of
        the continuation as it grows: continue one prompt at a time (`window=1`), without a beam. `first` is the line
        number of the first prompt, which also selects its random numbers.
        """
        assert on_text is None or (window == 1 and settings.beam == settings.n_best == 1)
        remaining = iter(prompts)
        while part := list(islice(remaining, window)):
            yield from self._generate_window(part, first, settings, on_text)
            first += len(part)

    def _generate_window(
        self, prompts: Sequence[str], first: int, settings: SearchSettings, on_text: OnText | None
    ) -> list[GeneratedText | None]:
        outcomes: list[GeneratedText | None] = [None] * len(prompts)
        rows: dict[int, tuple[int, ...]] = {}
        for index, ids in enumerate(self.vocabularies.target.encode(prompts)):
            fault = self._fault(ids)
            if fault is None:
                rows[index] = tuple(ids)
            elif self.on_fault == "refuse":
                raise DataError(f"line {first + index}: {fault}", options={"on_fault": "skip"})
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in _batches(rows):
                numbers = [first - 1 + index for index in batch]
                hypotheses_by_row = self._search([rows[index] for index in batch], numbers, settings, on_text)
                for index, hypotheses in zip(batch, hypotheses_by_row, strict=True):
                    continuations = tuple(
                        WrittenText(self.continuation_text(hypothesis.tokens), hypothesis) for hypothesis in hypotheses
                    )
                    unknown = unknown_words(self.vocabularies.target, prompts[index], rows[index])
                    outcomes[index] = GeneratedText(first + index, prompts[index], rows[index], continuations, unknown)
        return outcomes

    def _search(
        self, rows: Sequence[tuple[int, ...]], numbers: Sequence[int], settings: SearchSettings, on_text: OnText | None
    ) -> list[list[Hypothesis]]:
        """Continue prompts of one length; `numbers` select the random numbers of each."""
        config = self.model.config
        prompts = torch.tensor([[config.start_id, *ids] for ids in rows], device=self.model.device)

        def show(tokens: Tensor) -> None:
            assert on_text is not None
            on_text(self.continuation_text(tokens[0, 0].tolist()))

        stepper = TextStepper(self.model, prompts, None if on_text is None else show)
        room = None if config.position_limit is None else config.position_limit - len(rows[0])
        limits = [settings.max_length if room is None else min(settings.max_length, room)] * len(rows)
        if settings.is_sampling:
            return sample(stepper, prompts, limits, settings, numbers=numbers)
        return search_with(stepper, prompts, limits, settings)

    def continuation_text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens that follow a prompt, with a space at its start if they begin with one."""
        tokeniser = self.vocabularies.target
        (text,) = tokeniser.decode([tokens])
        return f" {text}" if text and tokeniser.starts_with_space(tokens) else text

    def _fault(self, ids: Sequence[int]) -> str | None:
        """Return why a prompt cannot be continued, or None."""
        if not ids:
            return "the prompt is empty. Give some words that the model can continue, or skip such lines."
        longest = self.model.config.position_limit
        if longest is not None and len(ids) >= longest:
            return (
                f"the prompt has {len(ids):,} tokens, but the model has positions for {longest:,}, and at least one "
                "must be left for the continuation. Shorten it, or skip such lines."
            )
        return None


def _batches(rows: dict[int, tuple[int, ...]]) -> Iterator[list[int]]:
    """Yield the indices of prompts in batches of one length."""
    by_length: dict[int, list[int]] = {}
    for index, ids in rows.items():
        by_length.setdefault(len(ids), []).append(index)
    for indices in by_length.values():
        for start in range(0, len(indices), _MAX_ROWS):
            yield indices[start : start + _MAX_ROWS]


def open_generator(
    path: str | Path | ModelFolder,
    *,
    device: DeviceName = "auto",
    precision: Precision = "auto",
    on_fault: OnFault = "refuse",
) -> TextGenerator:
    """Load a language model from a run folder or a checkpoint."""
    folder = find_model(path)
    vocabularies = load_vocabularies(folder)
    model = load_model(folder, device, precision)
    if not model.can_continue_text:
        advice = "Run clearhead translate" if model.can_translate else "Run clearhead classify"
        kind = "translates" if model.can_translate else "is a classifier"
        raise ConfigError(
            f"this model {kind} (shape {model.config.shape}), so it cannot continue a text. {advice}, or use a model "
            "that was trained with task: language-model.",
            options=("model",),
        )
    return TextGenerator(model.eval(), vocabularies, on_fault)


@dataclass(frozen=True)
class LikelyToken:
    """A token that the model could have written, with its log-probability."""

    piece: str
    log_prob: float


@dataclass(frozen=True)
class TokenChoice:
    """A written token, its rank among all tokens (1 is the most probable), and the most probable other tokens."""

    piece: str
    log_prob: float
    rank: int
    alternatives: tuple[LikelyToken, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for JSON."""
        others = [{"piece": other.piece, "log_prob": other.log_prob} for other in self.alternatives]
        return {"piece": self.piece, "log_prob": self.log_prob, "rank": self.rank, "alternatives": others}


def token_choices(generator: TextGenerator, generated: GeneratedText, rank: int, number: int = 5) -> list[TokenChoice]:
    """Return the choice of each token of a continuation, from one pass over the prompt and the continuation."""
    model, tokeniser = generator.model, generator.vocabularies.target
    tokens = generated.continuations[rank].hypothesis.tokens
    target = torch.tensor([[*generated.prompt_ids, *tokens]], device=model.device)
    with evaluation_mode(model), torch.inference_mode():
        logits = model.decode(model.shifted(target))[0, len(generated.prompt_ids) :]  # (T, V)
        wide = torch.promote_types(logits.dtype, torch.float32)
        log_probs = torch.log_softmax(logits, dim=-1, dtype=wide)
        log_probs[:, list(model.config.never_written)] = float("-inf")  # no choice: padding, for example
    best = log_probs.topk(min(number + 1, log_probs.shape[-1]))
    choices = []
    for place, token in enumerate(tokens):
        own = float(log_probs[place, token])
        likely = zip(best.indices[place].tolist(), best.values[place].tolist(), strict=True)
        others = [(other, value) for other, value in likely if other != token][:number]
        pieces = tokeniser.pieces([token, *(other for other, _ in others)])
        alternatives = tuple(LikelyToken(piece, value) for piece, (_, value) in zip(pieces[1:], others, strict=True))
        choices.append(TokenChoice(pieces[0], own, int((log_probs[place] > own).sum()) + 1, alternatives))
    return choices

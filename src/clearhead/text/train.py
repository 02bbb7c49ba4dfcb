"""Train vocabularies on the training text with SentencePiece; the same text and seed give the same vocabulary.

The text can be larger than memory: SentencePiece is trained on a sample of it.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random

import sentencepiece

from clearhead.errors import ConfigError, DataError, printable
from clearhead.text.config import MIN_SIZE_FOR_BYTES, Task, TextConfig
from clearhead.text.normalise import normalise
from clearhead.text.special import BOS, EOS, PAD, PIECES, UNK, language_tag
from clearhead.text.tokeniser import Tokeniser, Vocabularies, split_tag

_MAX_LABELS = 10_000
_NUM_THREADS = 8  # fixed, because the last digit of sums depends on the number of threads
_MAX_BYTES = 2**16  # per sentence; SentencePiece skips longer ones
_BYTES = 256
_CHARACTER_SHARE = 0.5  # of the pieces that are neither special tokens nor bytes


def train_vocabularies(
    pairs: Iterable[tuple[str, str]],
    config: TextConfig,
    languages: Sequence[str] = (),
    seed: int = 1,
    task: Task = "translate",
) -> Vocabularies:
    """Train the vocabularies of a task on its pairs of texts; their notes report any setting that had to be changed."""
    labels: set[str] = set()
    sample = _sample(_with_labels(pairs, labels) if task == "classify" else pairs, config, Random(seed))
    if not sample:
        raise DataError("There is no text to train a vocabulary on: no pair remains.")
    sources = [split_tag(source)[1] if languages else source for source, _ in sample]
    targets = [target for _, target in sample]
    language_names = tuple(dict.fromkeys(languages))
    if task != "translate":
        tokeniser = _train(sources if task == "classify" else targets, config, language_names)
        return Vocabularies(tokeniser, tokeniser, language_names, tuple(sorted(labels)), _notes(config, tokeniser))
    if config.is_joint:
        tokeniser = _train([*sources, *targets], config, language_names)
        return Vocabularies(tokeniser, tokeniser, language_names, notes=_notes(config, tokeniser))
    source, target = _train(sources, config, language_names, "source"), _train(targets, config, (), "target")
    return Vocabularies(source, target, language_names, notes=_notes(config, source, target))


def find_labels(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the sorted labels of pairs of text and label; needed when the vocabulary is not trained here."""
    labels: set[str] = set()
    for _ in _with_labels(pairs, labels):
        pass
    return tuple(sorted(labels))


def _with_labels(pairs: Iterable[tuple[str, str]], labels: set[str]) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        labels.add(pair[1])
        if len(labels) > _MAX_LABELS:
            raise DataError(
                f"There are more than {_MAX_LABELS:,} different labels, the last '{printable(pair[1][:40])}'. "
                "Is the target a label? For sentences, set task: translate."
            )
        yield pair


def _sample(pairs: Iterable[tuple[str, str]], config: TextConfig, random: Random) -> list[tuple[str, str]]:
    """Return all pairs, or a uniform random sample of them if there are more than allowed."""
    capacity = max(1, config.max_sentences // 2) if config.is_joint else config.max_sentences
    sample: list[tuple[str, str]] = []
    for number, pair in enumerate(pairs):
        if number < capacity:
            sample.append(pair)
        elif (index := random.randrange(number + 1)) < capacity:
            sample[index] = pair
    return sample


def _train(sentences: list[str], config: TextConfig, languages: Sequence[str], side: str = "") -> Tokeniser:
    texts = (normalise(sentence, config.normalisation, config.lower_case) for sentence in sentences)
    unique_texts = list(dict.fromkeys(filter(None, texts)))
    if not unique_texts:
        raise DataError("There is no text to train a vocabulary on: every sentence is empty.")
    # SentencePiece searches for repeated substrings, in time quadratic in the longest one: a text that occurs twice in
    # the same order would take hours
    Random(len(unique_texts)).shuffle(unique_texts)
    if config.kind in ("unigram", "bpe"):
        unique_texts = _without_rare_characters(unique_texts, config, len(languages))
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(unique_texts),
            model_writer=model,
            model_type=config.kind,
            vocab_size=config.vocabulary,
            character_coverage=1.0 if config.kind in ("unigram", "bpe") else config.coverage,
            byte_fallback=config.has_bytes,
            control_symbols=[language_tag(language) for language in languages],
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=_MAX_BYTES,
            num_threads=_NUM_THREADS,
            minloglevel=2,
            pad_id=PAD, bos_id=BOS, eos_id=EOS, unk_id=UNK,
            pad_piece=PIECES[PAD], bos_piece=PIECES[BOS], eos_piece=PIECES[EOS], unk_piece=PIECES[UNK],
        )  # fmt: skip
    except (RuntimeError, OSError) as wrong:
        raise _refusal(str(wrong), config, len(languages), side) from None
    return Tokeniser(model.getvalue(), config.model_copy(update={"byte_fallback": config.has_bytes}), languages)


def _without_rare_characters(texts: list[str], config: TextConfig, num_languages: int) -> list[str]:
    """Return the texts with spaces in place of the characters that get no piece.

    The most frequent characters are kept, up to `coverage` of the text. With bytes, they also take at most half of the
    vocabulary: a script of thousands of characters would leave no room for subwords, and bytes can spell the others.
    """
    counts = Counter[str]()
    for text in texts:
        counts.update(text)
    del counts[" "]
    room = len(counts)
    if config.has_bytes:
        free = config.vocabulary - len(PIECES) - num_languages - _BYTES
        room = max(1, min(room, int(_CHARACTER_SHARE * free)))
    most_frequent = sorted(counts, key=lambda character: (-counts[character], character))
    num_needed, num_kept = config.coverage * sum(counts.values()), 0
    for index, character in enumerate(most_frequent):
        if index >= room or num_kept >= num_needed:
            spaces = str.maketrans(dict.fromkeys(most_frequent[index:], " "))
            return [text for text in (" ".join(text.translate(spaces).split()) for text in texts) if text]
        num_kept += counts[character]
    return texts


def _refusal(wrong: str, config: TextConfig, num_languages: int, side: str) -> ConfigError | DataError:
    of_side = f" of the {side}" if side else ""
    match = re.search(r"required_chars\. \d+ vs (\d+)", wrong)
    min_size = int(match[1]) if match else len(PIECES) + num_languages + _BYTES * config.has_bytes + 1
    if config.vocabulary < min_size:
        return ConfigError(
            f"text.vocabulary = {config.vocabulary} is too small: the characters{of_side} alone need {min_size}. "
            f"Set text.vocabulary to {min_size} or more, or drop rare characters with a lower text.coverage."
        )
    fact = wrong.rpartition("]")[2].strip() or wrong
    return DataError(f"SentencePiece could not train a vocabulary{of_side}: {printable(fact)} Is there enough text?")


def _notes(config: TextConfig, *tokenisers: Tokeniser) -> tuple[str, ...]:
    sides = ("",) if len(tokenisers) == 1 else (" of the source", " of the target")
    has_room_for_bytes = config.vocabulary >= MIN_SIZE_FOR_BYTES or config.kind in ("word", "char")
    notes = [
        f"text.vocabulary = {config.vocabulary} is too small for byte pieces by default, so characters that are not in "
        f"the training text are unknown. Use {MIN_SIZE_FOR_BYTES} or more, or set text.byte_fallback."
    ] * (config.byte_fallback is None and not has_room_for_bytes)
    notes += [
        f"text.vocabulary = {config.vocabulary}, but the text{side} yields only {tokeniser.size} pieces, "
        f"so the vocabulary has {tokeniser.size}."
        for side, tokeniser in zip(sides, tokenisers, strict=True)
        if tokeniser.size < config.vocabulary
    ]
    return tuple(notes)

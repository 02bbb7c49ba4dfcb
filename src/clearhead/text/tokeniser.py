"""Tokenisers: a SentencePiece model in memory, and the pair of tokenisers of a translator with its language tags.

SentencePiece only splits the text; it is normalised before, in normalise.py.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from os import cpu_count
from pathlib import Path
from random import Random
from typing import Literal

import sentencepiece
from pydantic import Field, NonNegativeInt, ValidationError, field_validator

from clearhead.errors import CheckpointError, DataError, did_you_mean, printable
from clearhead.files.manifest import verify_if_listed
from clearhead.files.reading import read_file
from clearhead.files.writing import bytes_writer, write_together
from clearhead.settings import Settings
from clearhead.text.config import TextConfig
from clearhead.text.normalise import REPLACEMENT, SPACE_MARK, normalise
from clearhead.text.sampling import BpeDropoutSampler, UnigramSampler
from clearhead.text.scripts import continues_word, scripts_of
from clearhead.text.special import PIECES, language_tag

FOLDER, SETTINGS = "tokeniser", "tokeniser.json"
_TAG = re.compile(r">>([A-Za-z][A-Za-z0-9_-]*)<<")
_MAX_THREADS = 16
_MIN_PARALLEL = 64  # sentences; for fewer, one thread is faster than several


class Tokeniser:
    """A SentencePiece model; its special tokens are ids that no text can spell."""

    ids: dict[str, int] | None = None  # only for MarianMT, which keeps its ids in a separate file

    def __init__(self, model: bytes, config: TextConfig, languages: Sequence[str] = ()) -> None:
        try:
            if not model:  # SentencePiece would accept it, and fail at the first sentence
                raise RuntimeError
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except (RuntimeError, OSError):
            raise CheckpointError("this is not a SentencePiece model, or it is truncated. Copy it again.") from None
        self.model, self.config = model, config
        self.size: int = self._processor.get_piece_size()
        try:
            self._processor.id_to_piece(list(range(self.size)))
        except UnicodeDecodeError:
            raise CheckpointError("this SentencePiece model has pieces that are not UTF-8. Copy it again.") from None
        self.pad: int = self._special(self._processor.pad_id())
        self.bos: int = self._special(self._processor.bos_id())
        self.eos: int = self._special(self._processor.eos_id())
        self.unk: int = self._processor.unk_id()
        self._sampler: UnigramSampler | BpeDropoutSampler | None = None
        self._outside: dict[tuple[str, ...], tuple[int, ...]] = {}
        self.tags: dict[str, int] = {language: self._tag_id(language) for language in languages}

    @property
    def digest(self) -> str:
        """Return the sha256 of the model's bytes."""
        return sha256(self.model).hexdigest()

    @property
    def ids_digest(self) -> str:
        """Return a hash of the mapping from pieces to ids."""
        return self.digest

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without the end token; a language tag at the start becomes one id."""
        tag_ids, texts = self._split_tags(sentences)
        num_threads = min(_MAX_THREADS, cpu_count() or 1) if len(texts) > _MIN_PARALLEL else 1
        return _prepend_tags(tag_ids, self._encode_texts(texts, num_threads) if texts else [])

    def sample(self, sentences: Sequence[str], seed: int) -> list[list[int]]:
        """Split each sentence at random; the result depends only on the sentences and the seed, not on the process."""
        if not self.config.sampling or self.config.kind in ("word", "char"):
            return self.encode(sentences)
        tag_ids, texts = self._split_tags(sentences)
        if self._sampler is None:
            self._sampler = self._make_sampler()
        random = Random(seed)
        return _prepend_tags(tag_ids, [self._sampler.sample_ids(text, random) if text else [] for text in texts])

    def _make_sampler(self) -> UnigramSampler | BpeDropoutSampler:
        if self.config.kind == "bpe":
            return BpeDropoutSampler(self._processor, self._ids_of_piece, self.config.sampling)
        return UnigramSampler(self._processor, self._piece_id, self.config.sampling)

    def _piece_id(self, piece: str) -> int:
        """Return the id of a piece, or the unknown id."""
        piece_id: int = self._processor.piece_to_id(piece)
        return piece_id

    def _ids_of_piece(self, piece: str) -> list[int]:
        """Return the id of a piece; for a character without one, the ids of its bytes, if the vocabulary has bytes."""
        piece_id = self._piece_id(piece)
        if piece_id != self.unk:
            return [piece_id]
        return [self.byte_ids[byte] for byte in piece.encode()] if self.has_bytes else [self.unk]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the sentences of the ids. Special tokens, unknown pieces and bytes of no character are omitted."""
        rows = [self._visible(row) for row in ids]
        # SentencePiece decodes a space in bytes as its mark, and an invalid byte as a replacement character
        return [text.replace(SPACE_MARK, " ").replace(REPLACEMENT, "").strip() for text in self._decode_rows(rows)]

    def starts_with_space(self, ids: Sequence[int]) -> bool:
        """Return whether the text of ids starts with a space, which `decode` removes."""
        visible = self._visible(ids)
        return bool(visible) and (self._starts_word[visible[0]] or visible[0] == self.byte_ids[ord(" ")])

    def _visible(self, ids: Sequence[int]) -> list[int]:
        """Return the ids without special tokens, language tags and unknown pieces."""
        hidden = self._hidden
        return [self._check_id(piece) for piece in map(int, ids) if piece not in hidden]

    @property
    def has_bytes(self) -> bool:
        """Whether it can spell any character as bytes."""
        return self.unk not in self.byte_ids

    @cached_property
    def byte_ids(self) -> tuple[int, ...]:
        """The ids of the 256 byte pieces; the unknown id if the vocabulary has none."""
        return tuple(self._piece_id(f"<0x{byte:02X}>") for byte in range(256))

    def has_piece(self, text: str) -> bool:
        """Return whether a text is a piece of the vocabulary."""
        return self._piece_id(text) != self.unk

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id, for display."""
        named = {self.bos: PIECES[1], self.pad: PIECES[0], self.eos: PIECES[2]}
        return [named[piece] if piece in named else self._piece(self._check_id(piece)) for piece in map(int, ids)]

    def pieces_outside(self, scripts: tuple[str, ...]) -> tuple[int, ...]:
        """Return the ids of the pieces with a letter of another script; the same object for the same scripts.

        Special tokens, language tags and bytes have no script.
        """
        if scripts not in self._outside:
            self._outside[scripts] = tuple(
                number for number, piece in self._written_pieces.items() if not scripts_of(piece) <= set(scripts)
            )
        return self._outside[scripts]

    @property
    def _hidden(self) -> set[int]:
        """The special tokens, the language tags and the unknown piece, which are not in the text."""
        return {self.pad, self.bos, self.eos, self.unk, *self.tags.values()}

    @cached_property
    def _written_pieces(self) -> dict[int, str]:
        """The pieces that are written as text: no special tokens, language tags or bytes."""
        neutral = {*self._hidden, *self.byte_ids}
        return {number: piece for number, piece in enumerate(self.pieces(range(self.size))) if number not in neutral}

    @cached_property
    def continuing_pieces(self) -> tuple[int, ...]:
        """The ids of the pieces that continue a word: they start with a letter or digit, without a space before it.

        Among bytes these are ASCII letters and digits, and the first bytes of letters in UTF-8 up to U+1FFF.
        """
        letters = [number for number, piece in self._written_pieces.items() if continues_word(piece)]
        bytes_of_letters = [self.byte_ids[byte] for byte in range(256) if chr(byte).isalnum() and byte < 128]
        bytes_of_letters += self.byte_ids[0xC3:0xE2]
        return (*letters, *(bytes_of_letters if self.has_bytes else ()))

    def word_spans(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Return where each word starts and ends in the ids of a sentence; language tags are not words."""
        if not ids:
            return []
        tag_ids = set(self.tags.values())
        starts = [0, *(place for place in range(1, len(ids)) if self._starts_word[ids[place]])]
        spans = zip(starts, [*starts[1:], len(ids)], strict=True)
        return [(start, end) for start, end in spans if ids[start] not in tag_ids]

    def starts_word(self, piece: int) -> bool:
        """Return whether an id starts a word; in a vocabulary of words, an unknown word does too."""
        return self._starts_word[piece]

    @cached_property
    def _starts_word(self) -> list[bool]:
        unknown_word = self.unk if self.config.kind == "word" else None
        pieces = enumerate(self.pieces(range(self.size)))
        return [piece.startswith(SPACE_MARK) or number == unknown_word for number, piece in pieces]

    def normalised(self, sentence: str) -> str:
        """Return the normalised sentence."""
        return normalise(sentence, self.config.normalisation, self.config.lower_case)

    def tag(self, language: str) -> int:
        """Return the id of a language's tag."""
        if language in self.tags:
            return self.tags[language]
        if not self.tags:
            raise DataError(
                f"this model translates in one direction, so the language '{printable(language)}' cannot be chosen. "
                "Leave it out.",
                options=("language",),
            )
        tags = ", ".join(language_tag(name) for name in self.tags)
        raise DataError(
            f"{language_tag(printable(language))} is not a language of this vocabulary."
            f"{did_you_mean(language, self.tags)} It has {tags}.",
            options=("language",),
        )

    def save(self, path: str | Path) -> None:
        """Write the SentencePiece model; Vocabularies.save writes the settings that belong to it."""
        write_together(Path(path).parent, {Path(path).name: bytes_writer(self.model)})

    @staticmethod
    def load(path: str | Path, config: TextConfig | None = None, languages: Sequence[str] = ()) -> "Tokeniser":
        """Read a SentencePiece model from a file."""
        model = read_file(Path(path))
        try:
            return Tokeniser(model, config or TextConfig(), languages)
        except CheckpointError as wrong:
            raise CheckpointError(f"{printable(str(path))}: {wrong}") from None

    def _special(self, special_id: int) -> int:
        """Return the id of a special token; if a foreign model lacks it, it is added after the last piece."""
        if special_id >= 0:
            return special_id
        self.size += 1
        return self.size - 1

    def _tag_id(self, language: str) -> int:
        tag_id: int = self._processor.piece_to_id(language_tag(language))
        if tag_id == self.unk:
            raise CheckpointError(
                f"this SentencePiece model has no piece {language_tag(printable(language))}. "
                "To train a vocabulary for these languages, remove text.tokeniser."
            )
        return tag_id

    def _encode_texts(self, texts: list[str], num_threads: int) -> list[list[int]]:
        ids: list[list[int]] = self._processor.encode(texts, num_threads=num_threads)
        return ids

    def _decode_rows(self, rows: list[list[int]]) -> list[str]:
        texts: list[str] = self._processor.decode(rows) if rows else []
        return texts

    def _piece(self, number: int) -> str:
        piece: str = self._processor.id_to_piece(number)
        return piece

    def _split_tags(self, sentences: Sequence[str]) -> tuple[list[int | None] | None, list[str]]:
        """Return the id of each sentence's tag (None if this vocabulary has no tags), and its normalised text."""
        if isinstance(sentences, str):
            raise DataError(f"a list of sentences is required, not a single text: '{printable(sentences[:40])}'.")
        form, is_lower = self.config.normalisation, self.config.lower_case
        if not self.tags:
            return None, [normalise(sentence, form, is_lower) for sentence in sentences]
        split = [split_tag(sentence) for sentence in sentences]
        tag_ids = [None if language is None else self.tag(language) for language, _ in split]
        return tag_ids, [normalise(text, form, is_lower) for _, text in split]

    def _check_id(self, piece: int) -> int:
        if not 0 <= piece < self.size:
            raise DataError(f"id {piece} is not in the vocabulary. Ids go from 0 to {self.size - 1}.")
        return piece


def _prepend_tags(tag_ids: list[int | None] | None, rows: list[list[int]]) -> list[list[int]]:
    if tag_ids is None:
        return rows
    return [ids if tag_id is None else [tag_id, *ids] for tag_id, ids in zip(tag_ids, rows, strict=True)]


def split_tag(sentence: str) -> tuple[str | None, str]:
    """Return the language of the tag at the start of a sentence, or None, and the rest of the sentence."""
    match = _TAG.match(sentence) if sentence.startswith(">>") else None
    return (match[1], sentence[match.end() :]) if match else (None, sentence)


@dataclass(frozen=True)
class Vocabularies:
    """The tokenisers of a model, shared or one per side, its language tags, and the labels of a classifier."""

    source: Tokeniser
    target: Tokeniser
    languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)  # remarks from training them, to be printed

    @property
    def is_joint(self) -> bool:
        """Whether both sides map pieces to the same ids."""
        return self.source.ids_digest == self.target.ids_digest

    @property
    def digest(self) -> str:
        """Return a hash of everything that decides which ids a text becomes."""
        config = self.source.config
        spelling = [config.normalisation, config.lower_case]
        contents = [
            self.source.digest,
            self.target.digest,
            self.source.ids_digest,
            self.languages,
            self.labels,
            spelling,
        ]
        return sha256(json.dumps(contents).encode()).hexdigest()

    def label(self, name: str) -> int:
        """Return the number of a label."""
        if name in self.labels:
            return self.labels.index(name)
        labels = ", ".join(printable(label) for label in self.labels[:20]) or "none"
        raise DataError(
            f"'{printable(name[:80])}' is not a label of this model.{did_you_mean(name, self.labels)} "
            f"Labels: {labels}{' …' if len(self.labels) > 20 else ''}."
        )

    def save(self, folder: str | Path) -> None:
        """Write folder/tokeniser, completely or not at all."""
        is_one = self.source is self.target
        sides = {"joint": self.source} if is_one else {"source": self.source, "target": self.target}
        ids = {side: tokeniser.ids for side, tokeniser in sides.items() if tokeniser.ids is not None}
        saved = _SavedVocabularies.model_validate({
            "files": {side: tokeniser.digest for side, tokeniser in sides.items()},
            "languages": self.languages,
            "labels": self.labels,
            # its original path means nothing on another machine
            "text": self.source.config.model_copy(update={"tokeniser": None}),
            "ids": ids or None,
        })  # fmt: skip
        contents = {f"{side}.spm": tokeniser.model for side, tokeniser in sides.items()}
        contents[SETTINGS] = saved.model_dump_json(indent=1).encode() + b"\n"
        writers = {name: bytes_writer(content) for name, content in contents.items()}
        write_together(Path(folder) / FOLDER, writers, has_manifest=True)

    @staticmethod
    def load(folder: str | Path) -> "Vocabularies":
        """Read folder/tokeniser, as written by `save`."""
        place = Path(folder) / FOLDER
        saved = _read_saved(place / SETTINGS)
        verify_if_listed(place, (SETTINGS, *(f"{side}.spm" for side in saved.files)), "Copy the folder again.")
        tokenisers = []
        for side, digest in saved.files.items():
            path = place / f"{side}.spm"
            if sha256(read_file(path)).hexdigest() != digest:  # before the parser of SentencePiece sees it
                raise CheckpointError(
                    f"{printable(str(path))} is not the file that {SETTINGS} was written with. Copy the folder again."
                )
            tokenisers.append(_open_side(path, side, saved))
        return Vocabularies(tokenisers[0], tokenisers[-1], saved.languages, saved.labels)


class _SavedVocabularies(Settings):
    """The content of tokeniser.json."""

    format: Literal[1] = 1
    files: dict[Literal["joint", "source", "target"], str] = Field(min_length=1)
    languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    text: TextConfig
    ids: dict[Literal["source", "target"], dict[str, NonNegativeInt]] | None = None  # only for MarianMT

    @field_validator("text", mode="before")
    @classmethod
    def _of_earlier_version(cls, text: object) -> object:
        """Earlier versions never spelled training text as bytes, and a run must resume as it was started."""
        return {"byte_share": 0.0, **text} if isinstance(text, dict) else text


def _read_saved(path: Path) -> _SavedVocabularies:
    try:
        return _SavedVocabularies.model_validate_json(read_file(path))
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise CheckpointError(
            f"{printable(str(path))} is damaged, or was written by another version of clearhead: "
            f"{printable(where) + ': ' if where else ''}{printable(first['msg'])}."
        ) from None


def _open_side(path: Path, side: Literal["joint", "source", "target"], saved: _SavedVocabularies) -> Tokeniser:
    if saved.ids is None or side == "joint":
        return Tokeniser.load(path, saved.text, () if side == "target" else saved.languages)
    from clearhead.text.marian import MarianTokeniser  # imported here because it imports this file

    if side not in saved.ids:
        raise CheckpointError(f"{printable(str(path.with_name(SETTINGS)))} has no ids of the {side}. Copy it again.")
    return MarianTokeniser(read_file(path), saved.ids[side], saved.text)

"""Text in and ids out: a SentencePiece model in memory, and the two of a translator with their language tags.

Where SentencePiece cuts is the only thing it decides; spelling is settled before, in normalise.py.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from os import cpu_count
from pathlib import Path
from random import Random
from typing import Literal

import sentencepiece
from pydantic import Field, ValidationError

from clearhead.errors import CheckpointError, DataError, did_you_mean, printable
from clearhead.files.reading import read_file
from clearhead.files.writing import bytes_writer, write_together
from clearhead.settings import Settings
from clearhead.text.config import TextConfig
from clearhead.text.normalise import SPACE_MARK, normalise
from clearhead.text.sampling import BpeDropoutSampler, UnigramSampler
from clearhead.text.special import PIECES, language_tag

FOLDER, SETTINGS = "tokeniser", "tokeniser.json"
_TAG = re.compile(r">>([A-Za-z][A-Za-z0-9_-]*)<<")
_MAX_THREADS = 16
_MIN_PARALLEL = 64  # sentences: fewer are cut sooner by one thread than by several


class Tokeniser:
    """A SentencePiece model; its special tokens are ids that no text can spell."""

    ids: dict[str, int] | None = None  # only a MarianMT model numbers its pieces in a file of its own

    def __init__(self, model: bytes, config: TextConfig, languages: Sequence[str] = ()) -> None:
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except (RuntimeError, OSError):
            raise CheckpointError("this is not a SentencePiece model, or it is cut short. Copy it again.") from None
        self.model, self.config = model, config
        self.size: int = self._processor.get_piece_size()
        self.pad: int = self._special(self._processor.pad_id())
        self.bos: int = self._special(self._processor.bos_id())
        self.eos: int = self._special(self._processor.eos_id())
        self.unk: int = self._processor.unk_id()
        self._sampler: UnigramSampler | BpeDropoutSampler | None = None
        self.tags: dict[str, int] = {language: self._tag_id(language) for language in languages}

    @property
    def digest(self) -> str:
        """Return the sha256 of the model's bytes."""
        return sha256(self.model).hexdigest()

    @property
    def ids_digest(self) -> str:
        """Return the fingerprint of what each id stands for."""
        return self.digest

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without the end; a language tag in front is one id."""
        tag_ids, texts = self._split_tags(sentences)
        num_threads = min(_MAX_THREADS, cpu_count() or 1) if len(texts) > _MIN_PARALLEL else 1
        return _prepend_tags(tag_ids, self._encode_texts(texts, num_threads) if texts else [])

    def sample(self, sentences: Sequence[str], seed: int) -> list[list[int]]:
        """Cut each sentence at random: a seed gives the same cuts in any process, whatever was cut before."""
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
        """Return the id of a piece, or of the unknown one."""
        piece_id: int = self._processor.piece_to_id(piece)
        return piece_id

    def _ids_of_piece(self, piece: str) -> list[int]:
        """Return the id of a piece; of a letter that has none, the ids of its bytes, where bytes have any."""
        piece_id = self._piece_id(piece)
        if piece_id != self.unk:
            return [piece_id]
        byte_ids = [self._piece_id(f"<0x{byte:02X}>") for byte in piece.encode()]
        return byte_ids if self.unk not in byte_ids else [self.unk]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the sentences that the ids spell: special tokens are left out, an unknown piece is shown as ⁇."""
        hidden = {self.pad, self.bos, self.eos, *self.tags.values()}
        rows = [[self._check_id(piece) for piece in map(int, row) if piece not in hidden] for row in ids]
        # a space that was spelled in bytes comes back as SentencePiece's mark
        return [text.replace(SPACE_MARK, " ").strip() for text in self._decode_rows(rows)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id, to show."""
        named = {self.bos: PIECES[1], self.pad: PIECES[0], self.eos: PIECES[2]}
        return [named[piece] if piece in named else self._piece(self._check_id(piece)) for piece in map(int, ids)]

    def normalised(self, sentence: str) -> str:
        """Return the sentence as it is before it is cut."""
        return normalise(sentence, self.config.normalisation, self.config.lower_case)

    def tag(self, language: str) -> int:
        """Return the id of a language's tag."""
        if language in self.tags:
            return self.tags[language]
        tags = ", ".join(language_tag(name) for name in self.tags) or "no language at all"
        raise DataError(
            f"{language_tag(printable(language))} is not a language of this vocabulary."
            f"{did_you_mean(language, self.tags)} It has {tags}.",
            options=("language",),
        )

    def save(self, path: str | Path) -> None:
        """Write the SentencePiece model; what goes with it is saved by the vocabularies."""
        write_together(Path(path).parent, {Path(path).name: bytes_writer(self.model)})

    @staticmethod
    def load(path: str | Path, config: TextConfig | None = None, languages: Sequence[str] = ()) -> "Tokeniser":
        """Read a SentencePiece model from a file."""
        try:
            return Tokeniser(read_file(Path(path)), config or TextConfig(), languages)
        except CheckpointError as wrong:
            raise CheckpointError(f"{printable(str(path))}: {wrong}") from None

    def _special(self, special_id: int) -> int:
        """Return the id of a special token; a model from elsewhere may lack it, and gets it after its last piece."""
        if special_id >= 0:
            return special_id
        self.size += 1
        return self.size - 1

    def _tag_id(self, language: str) -> int:
        tag_id: int = self._processor.piece_to_id(language_tag(language))
        if tag_id == self.unk:
            raise CheckpointError(
                f"this SentencePiece model has no piece {language_tag(language)}. "
                "Train a vocabulary for these languages: leave text.tokeniser out."
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
            raise DataError(f"a list of sentences is needed, not one text: '{printable(sentences[:40])}'.")
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
    """Return the language of the tag that a sentence begins with, if any, and the rest."""
    match = _TAG.match(sentence) if sentence.startswith(">>") else None
    return (match[1], sentence[match.end() :]) if match else (None, sentence)


@dataclass(frozen=True)
class Vocabularies:
    """The tokenisers of a model: one for both sides, or two; with language tags, and with labels if it classifies."""

    source: Tokeniser
    target: Tokeniser
    languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)  # what to tell about how they were made

    @property
    def is_joint(self) -> bool:
        """Whether an id stands for the same on both sides."""
        return self.source.ids_digest == self.target.ids_digest

    @property
    def digest(self) -> str:
        """Return one fingerprint of all that decides which ids a text becomes."""
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
            f"'{printable(name[:80])}' is not a label that was learned.{did_you_mean(name, self.labels)} "
            f"Labels: {labels}{' …' if len(self.labels) > 20 else ''}."
        )

    def save(self, folder: str | Path) -> None:
        """Write folder/tokeniser, whole or not at all."""
        is_one = self.source is self.target
        sides = {"joint": self.source} if is_one else {"source": self.source, "target": self.target}
        ids = {side: tokeniser.ids for side, tokeniser in sides.items() if tokeniser.ids is not None}
        saved = _SavedVocabularies.model_validate({
            "files": {side: tokeniser.digest for side, tokeniser in sides.items()},
            "languages": self.languages,
            "labels": self.labels,
            # where it was taken from is of no use on another machine
            "text": self.source.config.model_copy(update={"tokeniser": None}),
            "ids": ids or None,
        })  # fmt: skip
        contents = {f"{side}.spm": tokeniser.model for side, tokeniser in sides.items()}
        contents[SETTINGS] = saved.model_dump_json(indent=1).encode() + b"\n"
        write_together(Path(folder) / FOLDER, {name: bytes_writer(content) for name, content in contents.items()})

    @staticmethod
    def load(folder: str | Path) -> "Vocabularies":
        """Read folder/tokeniser as save wrote it."""
        place = Path(folder) / FOLDER
        saved = _read_saved(place / SETTINGS)
        tokenisers = []
        for side, digest in saved.files.items():
            path = place / f"{side}.spm"
            tokeniser = _open_side(path, side, saved)
            if tokeniser.digest != digest:
                raise CheckpointError(
                    f"{printable(str(path))} is not the file that {SETTINGS} was written with. Copy the folder again."
                )
            tokenisers.append(tokeniser)
        return Vocabularies(tokenisers[0], tokenisers[-1], saved.languages, saved.labels)


class _SavedVocabularies(Settings):
    """What tokeniser.json holds."""

    format: Literal[1] = 1
    files: dict[Literal["joint", "source", "target"], str] = Field(min_length=1)
    languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    text: TextConfig
    ids: dict[Literal["source", "target"], dict[str, int]] | None = None  # of a MarianMT model


def _read_saved(path: Path) -> _SavedVocabularies:
    try:
        return _SavedVocabularies.model_validate_json(read_file(path))
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise CheckpointError(
            f"{printable(str(path))} is damaged, or of another version of clearhead: "
            f"{where + ': ' if where else ''}{first['msg']}."
        ) from None


def _open_side(path: Path, side: Literal["joint", "source", "target"], saved: _SavedVocabularies) -> Tokeniser:
    if saved.ids is None or side == "joint":
        return Tokeniser.load(path, saved.text, () if side == "target" else saved.languages)
    from clearhead.text.marian import MarianTokeniser  # it builds on this file

    return MarianTokeniser(read_file(path), saved.ids[side], saved.text)

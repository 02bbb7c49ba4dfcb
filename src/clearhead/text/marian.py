"""The tokeniser of an OPUS-MT folder: two SentencePiece models split the text, and vocab.json maps pieces to ids.

A language tag of vocab.json (`>>fra<<`) is removed from the start of a source sentence before it is split.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from clearhead.errors import CheckpointError, printable
from clearhead.files.json_file import read_json
from clearhead.files.manifest import listed_files, verify_if_listed
from clearhead.files.reading import read_file
from clearhead.settings import shown
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Tokeniser, Vocabularies, split_tag

MARIAN_FILES = ("source.spm", "target.spm", "vocab.json")
_TARGET_VOCABULARY, _TOKENISER_SETTINGS = "target_vocab.json", "tokenizer_config.json"
_LARGEST_ID = 2**24 - 1
_SPECIAL_PIECES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


class MarianTokeniser(Tokeniser):
    """One side of a MarianMT model. Its decoder starts from the padding token, so `bos` is `pad`."""

    def __init__(self, model: bytes, ids: Mapping[str, int], config: TextConfig) -> None:
        super().__init__(model, config)
        self.ids = dict(ids)
        self._piece_of = {piece_id: piece for piece, piece_id in self.ids.items()}
        self.size = max(self._piece_of, default=-1) + 1
        self.pad, self.eos, self.unk = (self._required(name) for name in _SPECIAL_PIECES.values())
        self.bos = self.pad
        split = ((split_tag(piece), piece_id) for piece, piece_id in self.ids.items())
        self.tags = {language: piece_id for (language, rest), piece_id in split if language and not rest}

    @property
    def ids_digest(self) -> str:
        """Return a hash of the mapping from pieces to ids."""
        return sha256(json.dumps(self.ids, sort_keys=True).encode()).hexdigest()

    def _required(self, name: str) -> int:
        assert self.ids is not None
        if name not in self.ids:
            raise CheckpointError(f"the vocabulary has no {name}, which MarianMT requires.")
        return self.ids[name]

    def _encode_texts(self, texts: list[str], num_threads: int) -> list[list[int]]:
        """Split into pieces, not SentencePiece's ids: a piece without an id there can still be in vocab.json."""
        pieces: list[list[str]] = self._processor.encode(texts, out_type=str, num_threads=num_threads)
        return [[self._piece_id(piece) for piece in row] for row in pieces]

    def _piece_id(self, piece: str) -> int:
        assert self.ids is not None
        return self.ids.get(piece, self.unk)

    def _decode_rows(self, rows: list[list[int]]) -> list[str]:
        return [self._processor.decode_pieces([self._piece(piece_id) for piece_id in row]) for row in rows]

    def _piece(self, piece_id: int) -> str:
        return self._piece_of.get(piece_id, "<unk>")


def load_marian_vocabularies(folder: str | Path) -> Vocabularies:
    """Read the tokeniser of an OPUS-MT folder."""
    place = Path(folder)
    for name in MARIAN_FILES:
        if not (place / name).is_file():
            raise CheckpointError(
                f"{printable(str(place))} has no {name}. "
                f"The tokeniser of an OPUS-MT folder is {', '.join(MARIAN_FILES)}."
            )
    verify_if_listed(place, listed_files(place, (*MARIAN_FILES, _TARGET_VOCABULARY, _TOKENISER_SETTINGS)))
    settings = read_json(place / _TOKENISER_SETTINGS) if (place / _TOKENISER_SETTINGS).is_file() else {}
    for name, expected in _SPECIAL_PIECES.items():
        token = settings.get(name, expected)
        token = token.get("content") if isinstance(token, dict) else token
        if token != expected:
            raise CheckpointError(
                f"{printable(str(place / _TOKENISER_SETTINGS))}: {name} is {shown(token)}. "
                f"Only '{expected}' is supported."
            )
    ids = _read_ids(place / "vocab.json")
    is_separate = bool(settings.get("separate_vocabs", False))
    target_ids = _read_ids(place / _TARGET_VOCABULARY) if is_separate else ids
    config = TextConfig(normalisation="none", vocabulary=max(5, len(ids)), is_joint=not is_separate)
    source = _open_side(place / "source.spm", ids, config)
    target = _open_side(place / "target.spm", target_ids, config)
    return Vocabularies(source, target, tuple(source.tags))


def _open_side(path: Path, ids: Mapping[str, int], config: TextConfig) -> MarianTokeniser:
    model = read_file(path)
    try:
        return MarianTokeniser(model, ids, config)
    except CheckpointError as wrong:
        raise CheckpointError(f"{printable(str(path))}: {wrong}") from None


def _read_ids(path: Path) -> dict[str, int]:
    ids = read_json(path)
    wrong = next(
        (piece for piece, number in ids.items() if type(number) is not int or not 0 <= number <= _LARGEST_ID), None
    )
    if wrong is not None or not ids:
        detail = f"{shown(wrong)} has {shown(ids[wrong])}" if wrong is not None else "it is empty"
        raise CheckpointError(
            f"{printable(str(path))} must map each piece to its id, an integer from 0 to {_LARGEST_ID:,}, but {detail}."
        )
    if len(set(ids.values())) != len(ids):
        raise CheckpointError(f"{printable(str(path))} maps two pieces to the same id. Copy it again from its source.")
    missing = next((name for name in _SPECIAL_PIECES.values() if name not in ids), None)
    if missing is not None:
        raise CheckpointError(f"{printable(str(path))}: the vocabulary has no {missing}, which MarianMT requires.")
    return ids

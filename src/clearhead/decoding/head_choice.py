"""The head that alignments are read from: rate heads on text, save the choice as alignment.json, load it again.

A choice is only used with the weights it was made for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from clearhead.decoding.alignment import AlignmentRule, Head, RatedRule, cross_attention_heads, rate_rules
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links, word_links, words_of
from clearhead.errors import CheckpointError, DataError, printable
from clearhead.files.json_file import json_writer, read_json
from clearhead.files.manifest import MANIFEST, listed_files, verify_if_listed
from clearhead.files.writing import write_together
from clearhead.formats.model_folder import ModelFolder, find_model, load_config
from clearhead.text.tokeniser import split_tag

CHOICE = "alignment.json"
_MARK = "clearhead_alignment"
_FORMAT = 1


@dataclass(frozen=True)
class HeadChoice:
    """The chosen rule, the kind of links that chose it, and its error rate on them."""

    rule: AlignmentRule
    chosen_by: str
    error: float
    signature: str


def rate_heads(
    translator: Translator, texts: Sequence[tuple[str, str]], error_rate: Callable[[Sequence[Links]], float]
) -> list[RatedRule]:
    """Rate every rule on sentences and their translations, best first; `error_rate` gets links between words."""
    import torch  # not needed to read a choice

    model, vocabularies = translator.model, translator.vocabularies
    longest = translator.engine.config.position_limit
    pairs, words = [], []
    sources, targets = zip(*texts, strict=True) if texts else ((), ())
    rows = zip(vocabularies.source.encode(sources), vocabularies.target.encode(targets), strict=True)
    for number, ((source, target), (source_ids, target_ids)) in enumerate(zip(texts, rows, strict=True), 1):
        if longest is not None and max(len(source_ids), len(target_ids)) >= longest:
            raise DataError(f"line {number} has more tokens than the model can read ({longest}). Remove this line.")
        pairs.append((torch.tensor([*source_ids, model.config.eos], device=model.device), target_ids))
        source_words = words_of(vocabularies.source, source_ids, split_tag(source)[1])
        words.append((source_words, words_of(vocabularies.target, target_ids, target)))

    def error_of_words(links_of_pieces: Sequence[Links]) -> float:
        return error_rate([word_links(links, *both) for links, both in zip(links_of_pieces, words, strict=True)])

    with torch.inference_mode():
        return rate_rules(model, pairs, error_of_words)


def save_choice(path: str | Path, choice: HeadChoice) -> Path:
    """Write a choice to the folder of the model, and return the path of the file."""
    model = find_model(path)
    folder, head = model.folder, choice.rule.head
    data = {
        _MARK: _FORMAT,
        "block": head.block,
        "head": head.head,
        "is_shifted": choice.rule.is_shifted,
        "chosen_by": choice.chosen_by,
        "error_rate": choice.error,
        "signature": choice.signature,
        "model": model.fingerprint,
    }
    write_together(folder, {CHOICE: json_writer(data)}, has_manifest=(folder / MANIFEST).is_file())
    return folder / CHOICE


def read_choice(path: str | Path | ModelFolder) -> HeadChoice | None:
    """Return the choice saved with a model; None if there is none, or if it was made for other weights."""
    model = find_model(path)
    folder = model.folder
    if not (folder / CHOICE).is_file():
        return None
    verify_if_listed(folder, listed_files(folder, (CHOICE,)), "Delete it, or choose a head again.")
    data = read_json(folder / CHOICE)
    config = load_config(model)
    block, head, is_shifted = data.get("block"), data.get("head"), data.get("is_shifted")
    error = data.get("error_rate", 0.0)
    num_heads: dict[object, int] = dict(enumerate(cross_attention_heads(config)))
    is_valid = (
        _is_index(block, config.decoder_blocks)
        and _is_index(0 if head is None else head, num_heads.get(block, 0))
        and isinstance(is_shifted, bool)
        and isinstance(error, int | float)
        and isfinite(error)
    )
    if data.get(_MARK) != _FORMAT or not is_valid:
        raise CheckpointError(
            f"{printable(str(folder / CHOICE))} does not name a valid head. "
            "Delete it, or choose a head again with `clearhead evaluate`."
        )
    if data.get("model") != model.fingerprint:
        return None
    assert isinstance(block, int)
    rule = AlignmentRule(Head(block, head), is_shifted is True)
    return HeadChoice(rule, str(data.get("chosen_by", "")), float(error), str(data.get("signature", "")))


def _is_index(value: object, size: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < size

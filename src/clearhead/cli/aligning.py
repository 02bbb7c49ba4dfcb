"""Alignments in `clearhead evaluate`: links of files are judged, and the head to read them off is chosen."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clearhead.errors import ConfigError, DataError, printable

if TYPE_CHECKING:
    from clearhead.decoding.alignment import Links, Rated
    from clearhead.evaluation.alignment import GoldLinks
    from clearhead.evaluation.scores import Score

_SHOWN = 5  # readings: the best of them


def judge(links: Sequence[str], gold: str | None) -> list[tuple[str, "Score"]]:
    """Return the alignment error rate of every file of links."""
    if not links and gold is None:
        return []
    if not links or gold is None:
        raise ConfigError("alignments are judged with both: --links FILE and --gold-links FILE.")
    from clearhead.evaluation.alignment import alignment_error_rate, parse_gold_links, parse_links

    right = _parsed(gold, parse_gold_links)
    found = []
    for each in links:
        name, has_name, file = each.partition("=")
        file = file if has_name and not Path(each).exists() else each
        made = _parsed(file, parse_links)
        try:
            score = alignment_error_rate(made, [each.sure for each in right], [each.possible for each in right])
        except DataError as wrong:
            raise DataError(f"{printable(file)}: {wrong}") from None
        found.append((name if has_name else each, score))
    return found


def choose(model: str, source: str | None, references: Sequence[str], gold: str | None) -> list[tuple[str, "Score"]]:
    """Try every head of a model, keep the best beside it, and return the best few with their error rates."""
    if source is None or len(references) != 1:
        raise ConfigError("--choose-head needs sentences and their translations: --source FILE and --reference FILE.")
    from clearhead.decoding.head_choice import HeadChoice, rate_heads, save_choice
    from clearhead.decoding.loading import open_translator
    from clearhead.text.tokeniser import split_tag

    texts = _texts(source, references[0])
    right = _right([(split_tag(source)[1], target) for source, target in texts], gold)  # a tag is not a word
    score = _scorer(right, "gold" if gold is not None else "counted")
    translator = open_translator(model, engine="torch")
    rated = rate_heads(translator, texts, lambda found: score(found).value)
    best = rated[0]
    signature = score([()] * len(texts)).signature
    chosen_by = "gold links" if gold is not None else "counted links"
    place = save_choice(model, HeadChoice(best.reading, chosen_by, best.error, signature))
    typer.echo(f"clearhead: alignments will be read off {best.reading}: {printable(str(place))}", err=True)
    return [(str(each.reading), _as_score(each, signature)) for each in rated[:_SHOWN]]


def _texts(source: str, reference: str) -> list[tuple[str, str]]:
    from clearhead.files.input import whole_input

    if source == reference:
        raise ConfigError("--source and --reference are the same. Give sentences and their translations.")
    sources, targets = whole_input(source), whole_input(reference)
    if len(sources) != len(targets):
        raise DataError(
            f"{printable(source)} has {len(sources):,} lines, but {printable(reference)} has {len(targets):,}. "
            "Line i of one is the translation of line i of the other."
        )
    return list(zip(sources, targets, strict=True))


def _right(texts: Sequence[tuple[str, str]], gold: str | None) -> list["GoldLinks"]:
    """Return the links that heads are judged by: those of a file, or counted ones."""
    from clearhead.evaluation.alignment import GoldLinks, parse_gold_links
    from clearhead.evaluation.ibm_alignment import ibm_model1_links

    if gold is None:
        found = ibm_model1_links([source for source, _ in texts], [target for _, target in texts])
        return [GoldLinks(links, frozenset()) for links in found]
    right: list[GoldLinks] = _parsed(gold, parse_gold_links)
    if len(right) != len(texts):
        raise DataError(f"{printable(gold)} has {len(right):,} lines, and there are {len(texts):,} sentences.")
    for number, (each, (source, target)) in enumerate(zip(right, texts, strict=True), 1):
        for one, other in each.sure | each.possible:
            if one >= len(source.split()) or other >= len(target.split()):
                raise DataError(
                    f"{printable(gold)}:{number}: there is a link {one}-{other}, but the sentences have "
                    f"{len(source.split())} and {len(target.split())} words. Words are counted from 0."
                )
    return right


def _scorer(right: Sequence["GoldLinks"], kind: str) -> Callable[[Sequence["Links"]], "Score"]:
    from dataclasses import replace

    from clearhead.evaluation.alignment import alignment_error_rate

    sure, possible = [each.sure for each in right], [each.possible for each in right]

    def score(found: Sequence["Links"]) -> "Score":
        made = alignment_error_rate([frozenset(links) for links in found], sure, possible)
        return replace(made, signature=f"{made.signature}|links:{kind}|teacher-forced:yes")

    return score


def _as_score(rated: "Rated", signature: str) -> "Score":
    from clearhead.evaluation.scores import Score

    return Score("AER", rated.error, signature, is_higher_better=False)


def _parsed(name: str, read: Any) -> list[Any]:
    from clearhead.files.input import whole_input

    found = []
    for number, line in enumerate(whole_input(name), 1):
        try:
            found.append(read(line))
        except DataError as wrong:
            raise DataError(f"{printable(name)}:{number}: {wrong}") from None
    return found

"""Choose the head that alignments are read from: rate every head of a model on text, and save the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clearhead.decoding.alignment import AlignmentRule, cross_attention_heads
from clearhead.decoding.head_choice import HeadChoice, rate_heads, save_choice
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links
from clearhead.errors import ConfigError, DataError, printable
from clearhead.evaluation.alignment import GoldLinks, alignment_error_rate, read_gold_links
from clearhead.evaluation.ibm_alignment import ibm_model1_links
from clearhead.evaluation.scores import Score
from clearhead.files.line_input import whole_input
from clearhead.formats.model_folder import find_model, load_config
from clearhead.text.special import language_tag
from clearhead.text.tokeniser import Vocabularies, split_tag


@dataclass(frozen=True)
class HeadSelection:
    """The chosen head, the file that it was saved in, and the error rate of every rule, best first."""

    choice: HeadChoice
    path: Path
    scores: tuple[tuple[AlignmentRule, Score], ...]


def select_head(model: str | Path, source: str, reference: str, gold: str | None = None) -> HeadSelection:
    """Rate every head of a model on a file of sentences and a file of translations; save the best with the model.

    Heads are compared with the gold links in a file, or else with links estimated from the two files (IBM Model 1).
    """
    if not any(cross_attention_heads(load_config(find_model(model)))):
        raise ConfigError("this model has no attention to the source, so no head can be chosen.", options=("model",))
    texts = read_texts(source, reference)
    gold_links = read_links(gold, texts)
    signature = links_signature(gold, texts)
    sure, possible = [line.sure for line in gold_links], [line.possible for line in gold_links]

    def error_rate(links: Sequence[Links]) -> float:
        return alignment_error_rate([frozenset(line) for line in links], sure, possible).value

    rated = rate_heads(Translator.load(model, engine="torch"), texts, error_rate)
    chosen_by = "counted links" if gold is None else "gold links"
    choice = HeadChoice(rated[0].rule, chosen_by, rated[0].error, signature)
    scores = tuple(
        (rated_rule.rule, Score("AER", rated_rule.error, signature, is_higher_better=False)) for rated_rule in rated
    )
    return HeadSelection(choice, save_choice(model, choice), scores)


def read_texts(source: str, reference: str) -> list[tuple[str, str]]:
    """Return the lines of a file of sentences and a file of their translations as pairs."""
    if source == reference:
        raise ConfigError("both files are the same. Give a file of sentences and a file of their translations.")
    sources, targets = whole_input(source), whole_input(reference)
    if len(sources) != len(targets):
        raise DataError(
            f"{printable(source)} has {len(sources):,} lines, but {printable(reference)} has {len(targets):,}. "
            "Line i of the second file must be the translation of line i of the first."
        )
    return list(zip(sources, targets, strict=True))


def with_tags(
    texts: Sequence[tuple[str, str]], language: str | None, vocabularies: Vocabularies
) -> list[tuple[str, str]]:
    """Return the texts, each sentence with the tag of a language, if the model has it and the sentence has none."""
    if language is None or language not in vocabularies.source.tags:
        return list(texts)
    tag = language_tag(language)
    return [(source if split_tag(source)[0] else f"{tag} {source}", target) for source, target in texts]


def read_links(name: str | None, texts: Sequence[tuple[str, str]]) -> list[GoldLinks]:
    """Return the links of a file, or without one those that are estimated from the texts themselves (IBM Model 1)."""
    words = [(split_tag(source)[1], target) for source, target in texts]  # the language tag is not a word
    if name is not None:
        return _gold_links(name, words)
    links_by_sentence = ibm_model1_links([source for source, _ in words], [target for _, target in words])
    return [GoldLinks(links, frozenset()) for links in links_by_sentence]


def links_signature(name: str | None, texts: Sequence[tuple[str, str]]) -> str:
    """Return the signature of an error rate against the links of `read_links`."""
    return f"nrefs:1|sentences:{len(texts)}|links:{'counted' if name is None else 'gold'}|teacher-forced:yes"


def _gold_links(name: str, texts: Sequence[tuple[str, str]]) -> list[GoldLinks]:
    """Return the gold links of a file, one line for each pair of texts, after a check that all words exist."""
    gold_links = read_gold_links(name)
    if len(gold_links) != len(texts):
        raise DataError(
            f"{printable(name)} has {len(gold_links):,} lines, but there are {len(texts):,} sentences. "
            "Give the links of one sentence on each line."
        )
    for number, (links, (source, target)) in enumerate(zip(gold_links, texts, strict=True), 1):
        for one, other in links.sure | links.possible:
            if one >= len(source.split()) or other >= len(target.split()):
                raise DataError(
                    f"{printable(name)}:{number}: the link {one}-{other} is out of range: the sentences have "
                    f"{len(source.split())} and {len(target.split())} words. Words are counted from 0."
                )
    return gold_links

"""Static and contextual vectors of words with several senses, in full: the encoders of trained models.

For every ambiguous word, the vectors of equally many sentences of each sense are taken: the embedding (static), and the
state after every layer of the encoder. The sense is read from a vector by the nearest centroid of the other sentences'
vectors (one sentence of each sense is left out at a time), and by a linear map that was fitted to other sentences (ten
folds). Static vectors are all equal, so that they give exactly the share of a guess. The vectors of a word's pieces are
averaged; sentences in which a tokeniser splits the word in an unusual way are left out.

The senses come from a parallel text, whose German side decides them (benchmarks/sense_sentences.py), or from a file
with lines of word, sense and sentence. A model is a run folder, as benchmarks/readers.py --keep leaves it, or the name
of a built-in model. Take a text that the models were not trained on. With --untrained, an encoder of random weights is
measured beside each model: what its vectors show comes from the neighbouring words, not from learning.

    python benchmarks/word_senses.py work/runs/* --text more.en.xz more.de.xz --untrained --translate --json senses.json
    python benchmarks/word_senses.py en-es --sentences benchmarks/word_senses.tsv
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import word_senses_report
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ClearheadError
from clearhead.explain.token_row import TokenRow
from clearhead.formats.model_folder import find_model
from clearhead.model import SequenceModel, build_model
from clearhead.model.batch import padded
from clearhead.studies.encoder_states import encoder_states, word_vectors
from clearhead.studies.sense_measures import linear_senses, sense_cosines
from clearhead.text.special import language_tag
from clearhead.worksheet.arrays import Array
from halves import print_machine
from sense_sentences import (
    SENSES,
    SenseSentence,
    by_word,
    read_parallel,
    read_sentences,
    shuffled,
    translates_sense,
    word_pattern,
)

_CANDIDATES = 2  # sentences that are tokenised for each one that is used; some of them are left out
_BATCH = 256  # sentences; few large batches, because recurrent encoders are traced token by token


@dataclass(frozen=True, eq=False)
class OpenModel:
    """A model with its name, and the tag that its sentences begin with, if it has several target languages."""

    name: str
    translator: Translator
    tag: str

    def tokens(self, text: str) -> TokenRow:
        """Return a sentence as the encoder reads it, with the end token."""
        tokeniser = self.translator.vocabularies.source
        ids = [*tokeniser.encode([self.tag + text])[0], tokeniser.eos]
        return TokenRow.of(tokeniser, ids, text)


@dataclass(frozen=True)
class PlacedWord:
    """The ids of a sentence, and the positions of the pieces of its ambiguous word."""

    ids: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def pieces(self) -> tuple[int, ...]:
        """The ids of the word alone."""
        return tuple(self.ids[place] for place in self.places)


@dataclass(frozen=True)
class LayerResult:
    """What the vectors of a word in one layer show; layer 0 is the static embedding."""

    layer: int
    centroid: float
    linear: float
    within: float
    between: float


@dataclass(frozen=True)
class TranslatedSenses:
    """The shares of translations with words of the right sense only, and with words of another sense only."""

    right: float
    other: float


@dataclass(frozen=True)
class WordResult:
    """The layers of a model for one word, and the shares of its translations, if they were made."""

    word: str
    layers: tuple[LayerResult, ...]
    translations: TranslatedSenses | None = None


def open_model(path: str, device: str) -> OpenModel:
    """Load a run folder or a built-in model."""
    folder = find_model(path)
    translator = Translator.load(folder, engine="torch", device=device, precision="float32")
    language = folder.language
    tag = language_tag(language) if language in translator.vocabularies.source.tags and language is not None else ""
    return OpenModel(Path(path).name, translator, tag)


def place_word(model: OpenModel, sentence: SenseSentence, longest: int) -> PlacedWord | None:
    """Return where the word of a sentence is; None if the sentence is too long, or the word is not found in it."""
    row = model.tokens(sentence.text)
    pattern = word_pattern(sentence.word)
    numbers = [number for number, word in enumerate(row.words) if pattern.search(word)]
    if len(numbers) != 1 or len(row) > longest:
        return None
    return PlacedWord(row.ids, row.tokens_of(numbers[0]))


def usual_pieces(model: OpenModel, sentences: Sequence[SenseSentence], longest: int) -> set[SenseSentence]:
    """Return the sentences in which the word has its most frequent pieces, and so the same static vector."""
    placed = {sentence: place_word(model, sentence, longest) for sentence in sentences}
    counts = Counter(one.pieces for one in placed.values() if one is not None)
    if not counts:
        return set()
    usual = counts.most_common(1)[0][0]
    return {sentence for sentence, one in placed.items() if one is not None and one.pieces == usual}


def choose(models: Sequence[OpenModel], options: argparse.Namespace) -> dict[str, list[SenseSentence]]:
    """Return the sentences of every word that has enough for each sense; the same for all models."""
    readers = {model.translator.vocabularies.source.digest + model.tag: model for model in models}
    chosen = {}
    for word, senses in by_word(read_all(options)).items():
        senses = {
            sense: shuffled(group, options.seed)[: _CANDIDATES * options.largest] for sense, group in senses.items()
        }
        for model in readers.values():
            kept = usual_pieces(model, [one for group in senses.values() for one in group], options.longest)
            senses = {sense: [one for one in group if one in kept] for sense, group in senses.items()}
        senses = {sense: group for sense, group in senses.items() if len(group) >= options.fewest}
        if len(senses) > 1:
            number = min(options.largest, *(len(group) for group in senses.values()))  # guessing is right in 1 / senses
            chosen[word] = [sentence for sense in sorted(senses) for sentence in senses[sense][:number]]
    if not chosen:
        sys.exit(f"No word has {options.fewest} sentences for two senses. Give more text, or a smaller --fewest.")
    return dict(sorted(chosen.items()))


def read_all(options: argparse.Namespace) -> list[SenseSentence]:
    """Return all sentences of all files, each once."""
    sentences: dict[SenseSentence, None] = {}
    for source, target in options.text:
        sentences |= dict.fromkeys(read_parallel(source, target))
    for path in options.sentences:
        sentences |= dict.fromkeys(read_sentences(path))
    return list(sentences)


def read_by_others(vectors: Array, senses: Sequence[int]) -> float:
    """Return the share of vectors (N, D) whose nearest centroid is that of their sense, each tested on the others.

    Every sense has the same number of vectors, at least two. One vector of each sense is left out at a time: with only
    the tested vector left out, its own centroid alone would move away from it, and vectors that say nothing would give
    less than a guess. Equal distances count as the first sense, so that equal vectors give exactly that share.
    """
    labels, exact = np.asarray(senses), vectors.astype(np.float64)
    names, counts = np.unique(labels, return_counts=True)
    assert counts.min() == counts.max() > 1, "every sense needs the same number of vectors"
    groups = np.stack([exact[labels == name] for name in names])  # (C, N / C, D)
    centroids = (groups.sum(axis=1, keepdims=True) - groups) / (groups.shape[1] - 1)  # without one vector each
    distances = np.square(groups[:, None] - centroids).sum(axis=-1)  # (C, C, N / C): vectors, centroids
    return float((distances.argmin(axis=1) == np.arange(len(names))[:, None]).mean())


def read_linearly_by_others(vectors: Array, senses: Sequence[int], num_folds: int = 10) -> float:
    """Return the share of vectors (N, D) whose sense a linear map finds that was fitted to the other folds.

    Every sense has the same number of vectors, at least two, so that it is equally frequent in every fold.
    """
    labels = np.asarray(senses)
    names, counts = np.unique(labels, return_counts=True)
    assert counts.min() == counts.max() > 1, "every sense needs the same number of vectors"
    folds = np.empty(len(labels), dtype=np.int64)
    for name in names:
        folds[labels == name] = np.arange(counts[0]) % num_folds
    choices = np.empty_like(labels)
    for fold in np.unique(folds):
        is_tested = folds == fold
        choices[is_tested] = linear_senses(vectors[~is_tested], labels[~is_tested].tolist(), vectors[is_tested])
    return float((choices == labels).mean())


def measure_word(encoder: SequenceModel, placed: Sequence[PlacedWord], senses: Sequence[int]) -> list[LayerResult]:
    """Return the measures of every layer of an encoder for the sentences of one word."""
    order = sorted(range(len(placed)), key=lambda number: len(placed[number].ids))  # for little padding
    batches = []
    for start in range(0, len(order), _BATCH):
        rows = [placed[number] for number in order[start : start + _BATCH]]
        source = padded([row.ids for row in rows], encoder.config.pad, encoder.device)
        places = torch.tensor([row.places for row in rows], device=encoder.device)
        batches.append(word_vectors(encoder_states(encoder, source), places).cpu())
    vectors, labels = torch.cat(batches, dim=1).numpy(), [senses[number] for number in order]
    results = []
    for layer, layer_vectors in enumerate(vectors):
        centroid, linear = read_by_others(layer_vectors, labels), read_linearly_by_others(layer_vectors, labels)
        results.append(LayerResult(layer, centroid, linear, *sense_cosines(layer_vectors, labels)))
    return results


def translated_senses(model: OpenModel, sentences: Sequence[SenseSentence]) -> TranslatedSenses:
    """Return what share of greedy translations has the right sense."""
    texts = [sentence.text for sentence in sentences]
    translations = model.translator.translate(texts, SearchSettings(beam=1))
    senses = [translates_sense(one.word, out.text) for one, out in zip(sentences, translations, strict=True)]
    right = sum(sense == sentence.sense for sense, sentence in zip(senses, sentences, strict=True))
    other = sum(sense is not None for sense in senses) - right
    return TranslatedSenses(right / len(sentences), other / len(sentences))


def measure(model: OpenModel, chosen: Mapping[str, list[SenseSentence]], options: argparse.Namespace) -> dict[str, Any]:
    """Return the results of a model for all words, and with --untrained those of an encoder of random weights."""
    start = time.perf_counter()
    trained = model.translator.model.eval()
    encoders = {model.name: trained}
    if options.untrained:
        torch.manual_seed(options.seed)
        encoders[f"{model.name}, untrained"] = build_model(trained.config).eval().to(trained.device)
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in encoders}
    for word, sentences in chosen.items():
        names = sorted({sentence.sense for sentence in sentences})
        senses = [names.index(sentence.sense) for sentence in sentences]
        placed = [one for sentence in sentences if (one := place_word(model, sentence, options.longest)) is not None]
        assert len(placed) == len(sentences)
        shares = translated_senses(model, sentences) if options.translate else None
        for name, encoder in encoders.items():
            layers = tuple(measure_word(encoder, placed, senses))
            results[name].append(asdict(WordResult(word, layers, shares if encoder is trained else None)))
    print(f"{model.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    config = trained.config
    facts = {"architecture": config.architecture, "layers": config.encoder_blocks, "width": config.d_model}
    return {"name": model.name, **facts, "results": results}


def options_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a run folder, or a built-in model such as en-es")
    parser.add_argument("--text", nargs=2, type=Path, action="append", default=[], metavar=("ENGLISH", "GERMAN"),
                        help="a parallel text, plain, .gz or .xz; can be given several times")  # fmt: skip
    parser.add_argument("--sentences", type=Path, action="append", default=[], metavar="TSV",
                        help="lines of word, sense and sentence")  # fmt: skip
    parser.add_argument("--largest", type=int, default=100, help="sentences of each sense, at most")
    parser.add_argument(
        "--fewest", type=int, default=None, help="sentences of each sense, at least (20; 4 with --sentences)"
    )
    parser.add_argument("--longest", type=int, default=100, help="leave out sentences with more tokens")
    parser.add_argument("--untrained", action="store_true", help="measure an encoder of random weights beside each")
    parser.add_argument("--translate", action="store_true", help="also count translations with the right sense")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help="an SVG or PNG file; needs matplotlib")
    return parser


def main() -> None:
    """Measure all models on the same sentences, and print the tables."""
    parser = options_parser()
    options = parser.parse_args()
    if not options.text and not options.sentences:
        parser.error("give --text ENGLISH GERMAN, --sentences TSV, or both")
    if options.fewest is None:
        options.fewest = 20 if options.text else 4
    if options.translate and (options.sentences or not options.text):
        parser.error("--translate needs the German patterns of a parallel text: use --text, without --sentences")
    if options.picture is not None:
        word_senses_report.check(options.picture)
    try:
        models = [open_model(path, options.device) for path in options.models]
        chosen = choose(models, options)
        results = [measure(model, chosen, options) for model in models]
    except ClearheadError as wrong:
        sys.exit(str(wrong))
    device = str(models[0].translator.model.device)
    print_machine("cpu" if device == "cpu" else "cuda")
    print(f"`word_senses.py {' '.join(sys.argv[1:])}`\n")
    counts = {word: Counter(sentence.sense for sentence in sentences) for word, sentences in chosen.items()}
    word_senses_report.report(results, counts)
    if options.json is not None:
        content = {"words": counts, "senses": SENSES, "models": results}
        options.json.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
    if options.picture is not None:
        word_senses_report.draw_results(results, counts, options.picture)


if __name__ == "__main__":
    main()

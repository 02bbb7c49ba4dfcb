"""Load a model and texts from files, and report on every attention head of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clearhead.decoding.engines.engine import DeviceName
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.scoring import Scorer, open_scorer, tagged
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError, printable
from clearhead.evaluation.alignment import GoldLinks
from clearhead.evaluation.significance import Resampling
from clearhead.explain.checks import check_test_set, refuse_exported
from clearhead.explain.head_report import HeadReport, Progress, measure_heads, with_bleu
from clearhead.explain.head_selection import links_signature, read_links, read_texts
from clearhead.explain.token_pairs import no_progress
from clearhead.files.line_input import whole_input
from clearhead.formats.model_folder import ModelFolder


@dataclass(frozen=True)
class HeadRequest:
    """What to measure: on the first `num_lines` lines (None: all), against gold links if there are any."""

    gold_links: str | None = None
    num_lines: int | None = None
    has_bleu: bool = False
    search: SearchSettings = SearchSettings()
    language: str | None = None  # the target language, for a model with several
    resampling: Resampling = Resampling()


def report_heads(
    path: str | Path | ModelFolder,
    files: Sequence[str],
    request: HeadRequest = HeadRequest(),
    *,
    device: DeviceName = "auto",
    progress: Progress = no_progress,
) -> HeadReport:
    """Report on every head of a model: `files` are sentences and their translations, or one text for a language model.

    Without gold links, the alignments of cross-attention are rated against links counted in the texts.
    """
    refuse_exported(path)
    scorer = open_scorer(path, device=device, precision="float32", language=request.language)
    texts = _read(scorer, files)[: request.num_lines]
    if not texts:
        raise DataError(f"{printable(files[-1])} is empty. Give at least one sentence.")
    links = _links(scorer, texts, request)
    texts = [(tagged(source, scorer.language), target) for source, target in texts]
    report = measure_heads(scorer.model, scorer.vocabularies, texts, links, request.resampling, progress)
    if links is not None:
        signature = links_signature(request.gold_links, texts)
        report = replace(report, signatures={**report.signatures, "alignment_error": signature})
    if not request.has_bleu:
        return report
    translator = Translator(scorer.vocabularies, TorchEngine(scorer.model))
    return with_bleu(report, translator, texts, request.search, request.resampling, progress)


def _read(scorer: Scorer, files: Sequence[str]) -> list[tuple[str, str]]:
    check_test_set(files, has_source=scorer.has_source)
    return read_texts(*files) if scorer.has_source else [("", line) for line in whole_input(files[0])]


def _links(scorer: Scorer, texts: Sequence[tuple[str, str]], request: HeadRequest) -> list[GoldLinks] | None:
    """Return the links that alignments are rated against; None for a model without cross-attention."""
    if not scorer.has_source:
        if request.gold_links is not None or request.has_bleu:
            raise ConfigError(
                "a language model has no translations to align or to score. Leave out gold links and BLEU."
            )
        return None
    links = read_links(request.gold_links, texts)
    return links if request.gold_links is not None or any(line.sure for line in links) else None

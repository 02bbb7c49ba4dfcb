"""`clearhead classify`: the label of each text, and its probability."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.model_option import Device, DeviceOption, ModelOption, ModelPrecision, PrecisionOption, chosen_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output import print_json
from clearhead.cli.text_lines import TextLineOptions, UnknownWordNotes
from clearhead.cli.translate_progress import TranslationProgress, can_show_progress
from clearhead.errors import DataError

if TYPE_CHECKING:
    from clearhead.decoding.classification import Classification, Classifier
    from clearhead.evaluation.label_report import LabelReport


@dataclass(frozen=True)
class LabelOptions:
    """What is shown besides the label."""

    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="Also print the probability of every label.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each line.")] = False


@dataclass(frozen=True)
class GoldOptions:
    """The evaluation."""

    labels: Annotated[
        str | None,
        typer.Option(
            help="File of the correct labels, line by line: print accuracy, macro-F1 and the confusion matrix instead "
            "of the labels, which -o still writes."
        ),
    ] = None
    samples: Annotated[
        int, typer.Option(min=0, help="With --labels: resampled test sets for the 95 % intervals; 0 turns them off.")
    ] = 1000
    seed: Annotated[int, typer.Option(min=0, help="With --labels: random seed of the samples.")] = 12345


@with_option_groups
def classify(
    *,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Texts to classify. Without them, lines are read from --input."),
    ] = None,
    model: ModelOption = None,
    lines: TextLineOptions,
    shown: LabelOptions,
    gold: GoldOptions,
    device: DeviceOption = Device.auto,
    precision: PrecisionOption = ModelPrecision.auto,
) -> None:
    """Classify texts with a model that was trained with task: classify."""
    from clearhead.decoding.classification import WINDOW, open_classifier

    sentences = texts or []
    path = chosen_model(model, sentences)
    source = lines.source(sentences, "classify")
    inputs = [*([] if sentences else [lines.input or "-"]), *([] if gold.labels is None else [gold.labels])]
    if inputs.count("-") > 1:
        raise DataError("standard input can only be read once. Give a file for the texts or the labels.")
    lines.check_outputs(path, inputs)
    classifier = open_classifier(path, device=device.value, precision=precision.value, on_fault=lines.on_fault.value)
    references = None if gold.labels is None else _read_labels(classifier, gold.labels)
    is_typed = lines.is_typed(sentences)
    progress = TranslationProgress(source, is_shown=can_show_progress(lines.output, is_typed=is_typed))
    with progress:
        classifications = classifier.classify((line.text for line in source.records()), 1 if is_typed else WINDOW)
        output = _Output(shown)
        notes = UnknownWordNotes("so that its label says nothing about it", is_typed=is_typed)
        counted = _counted(classifications, progress, notes)
        if references is None:
            lines.write(output.lines(counted))
            return
        outcomes = list(counted)
        if lines.output is not None:
            lines.write(output.lines(iter(outcomes)))
    _evaluate(outcomes, references, classifier, gold, as_json=shown.as_json)


def _counted(
    classifications: Iterator["Classification | None"], progress: TranslationProgress, notes: UnknownWordNotes
) -> Iterator["Classification | None"]:
    for number, classification in enumerate(classifications, 1):
        progress.advance(number)
        yield classification
        if classification is not None:
            notes.count(classification.number, classification.text, classification.unknown_words)
    notes.show()


def _read_labels(classifier: "Classifier", name: str) -> list[str]:
    """Return the correct labels of a file, or raise DataError for the first one that the model does not have."""
    from clearhead.decoding.scoring import shown_name
    from clearhead.files.line_input import whole_input

    labels = [line.strip() for line in whole_input(name)]
    for number, label in enumerate(labels, 1):
        if label not in classifier.labels:
            try:
                classifier.vocabularies.label(label)
            except DataError as wrong:
                raise DataError(f"{shown_name(name)}:{number}: {wrong}") from None
    return labels


def _evaluate(
    outcomes: Sequence["Classification | None"],
    references: Sequence[str],
    classifier: "Classifier",
    gold: GoldOptions,
    *,
    as_json: bool,
) -> None:
    from dataclasses import replace

    from clearhead.evaluation.label_report import report_labels
    from clearhead.evaluation.significance import Resampling

    if len(outcomes) != len(references):
        raise DataError(
            f"there are {len(outcomes):,} texts and {len(references):,} labels. Label i belongs to text i: give the "
            "same number of both."
        )
    pairs = [(outcome.label, label) for outcome, label in zip(outcomes, references, strict=True) if outcome is not None]
    if not pairs:
        raise DataError("all texts were skipped, so there is nothing to compare. Give texts that are not empty.")
    resampling = Resampling(gold.samples, seed=gold.seed) if gold.samples else None
    predictions, labels = ([pair[side] for pair in pairs] for side in (0, 1))
    report = report_labels(predictions, labels, classifier.labels, resampling)
    _show(replace(report, num_skipped=len(outcomes) - len(pairs)), as_json=as_json)


def _show(report: "LabelReport", *, as_json: bool) -> None:
    from clearhead.cli.evaluation_output import draw
    from clearhead.evaluation.label_report import label_tables

    if as_json:
        print_json(report.to_dict())
    else:
        draw(label_tables(report))


class _Output:
    """Formats classifications as lines."""

    def __init__(self, shown: LabelOptions) -> None:
        self._shown = shown

    def lines(self, classifications: Iterator["Classification | None"]) -> Iterator[str]:
        """Yield a line for each classification; an empty line for a text that was skipped."""
        for classification in classifications:
            if classification is None:
                yield ""
                continue
            yield self._json(classification) if self._shown.as_json else self._line(classification)

    def _line(self, classification: "Classification") -> str:
        cells = [classification.label]
        if self._shown.probabilities:
            pairs = zip(classification.labels, classification.probabilities, strict=True)
            cells += [f"{label}:{share:.4f}" for label, share in pairs]
        return "\t".join(cells)

    def _json(self, classification: "Classification") -> str:
        import json

        record = {
            "line": classification.number,
            "text": classification.text,
            "label": classification.label,
            "probabilities": dict(zip(classification.labels, classification.probabilities, strict=True)),
            "unknown_words": list(classification.unknown_words),
        }
        return json.dumps(record, ensure_ascii=False)

"""The certificate of an export: how its results differ from those of the model, on the same sentences."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from clearhead import __version__
from clearhead.errors import CheckpointError, ConfigError, printable
from clearhead.export.targets import TITLES, ExportFormat, ExportPrecision
from clearhead.files.json_file import read_json
from clearhead.formats.config_file import refuse_later_format
from clearhead.settings import Settings, read_settings

CERTIFICATE, CERTIFICATE_TEXT = "certificate.json", "certificate.md"
FORMAT = 1
_MARK = "clearhead_certificate"


class NumericDifference(Settings):
    """How far the numbers of the export are from those of the model, on the translations of the model."""

    of: Literal["logits", "log-probabilities"] = Field(description="what the program returns and was compared")
    largest: float = Field(ge=0, description="largest absolute difference")
    mean: float = Field(ge=0, description="mean absolute difference")
    tokens: int = Field(ge=0, description="number of tokens")


class Divergence(Settings):
    """The first sentence whose translation differs, and the first token that differs in it."""

    sentence: int = Field(ge=1, description="number of the sentence")
    token: int = Field(ge=1, description="number of the token in the translation")
    original: str = Field(description="the token of the model; empty if its translation ended")
    exported: str = Field(description="the token of the export; empty if its translation ended")
    margin: float | None = Field(description="difference of the two logits in the model; a near tie if it is small")


class BleuDifference(Settings):
    """BLEU of the model and the export, and the 95 % interval of the difference by paired bootstrap resampling."""

    original: float
    exported: float
    difference: float
    low: float
    high: float
    signature: str


class ExportComparison(Settings):
    """What was measured."""

    sentences: int = Field(ge=1, description="number of sentences")
    identical: int = Field(ge=0, description="number of sentences with identical translations")
    numbers: NumericDifference | None
    divergence: Divergence | None
    bleu: BleuDifference | None
    same_tokens: int | None = Field(None, description="sentences that the exported tokeniser splits identically")
    original_speed: float = Field(gt=0, description="sentences per second")
    exported_speed: float = Field(gt=0, description="sentences per second")
    original_bytes: int = Field(ge=0, description="size of the weights of the model")
    exported_bytes: int = Field(ge=0, description="size of the exported weights")

    @property
    def share(self) -> float:
        """The share of identical translations."""
        return self.identical / self.sentences


class Limits(Settings):
    """The limits of an export; None is no limit."""

    difference: float | None = Field(description="largest difference of logits or log-probabilities")
    identical: float = Field(description="least share of identical translations")
    bleu_drop: float = Field(description="largest drop of BLEU")

    @staticmethod
    def of(precision: ExportPrecision) -> "Limits":
        """Return the limits for a precision: rounded weights are expected to change some translations."""
        return _LIMITS[precision]


_LIMITS: dict[ExportPrecision, Limits] = {
    "float32": Limits(difference=1e-3, identical=0.98, bleu_drop=0.2),
    "float16": Limits(difference=0.1, identical=0.9, bleu_drop=0.5),
    "int8": Limits(difference=None, identical=0.5, bleu_drop=1.0),
}


class Certificate(Settings):
    """The content of certificate.json."""

    clearhead_certificate: Literal[1] = Field(1, description="the format of the file")
    clearhead_version: str = __version__
    target: ExportFormat = Field(description="the format of the export")
    precision: ExportPrecision
    model: str = Field(description="a hash of the model")
    original: str = Field(description="the program that ran the model")
    exported: str = Field(description="the program that ran the export")
    machine: str
    text: str = Field(description="where the sentences are from")
    text_sha256: str
    comparison: ExportComparison
    limits: Limits

    @property
    def faults(self) -> tuple[str, ...]:
        """The limits that are exceeded, as clauses; empty if the export is within all of them."""
        own, limits = self.comparison, self.limits
        faults = []
        if own.numbers is not None and limits.difference is not None and own.numbers.largest > limits.difference:
            faults.append(
                f"the largest difference of {own.numbers.of} is {own.numbers.largest:.2g} (limit {limits.difference:g})"
            )
        if own.share < limits.identical:
            faults.append(f"{own.share:.1%} of the translations are identical (limit {limits.identical:.0%})")
        if own.bleu is not None and -own.bleu.difference > limits.bleu_drop:
            faults.append(f"BLEU drops by {-own.bleu.difference:.2f} (limit {limits.bleu_drop:g})")
        if own.same_tokens is not None and own.same_tokens < limits.identical * own.sentences:
            faults.append(
                f"its tokeniser splits {own.sentences - own.same_tokens:,} of {own.sentences:,} sentences differently"
            )
        return tuple(faults)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of certificate.json, with the verdict."""
        return {**self.model_dump(mode="json"), "faults": list(self.faults)}


def read_certificate(folder: str | Path) -> Certificate:
    """Read the certificate of an export, or raise CheckpointError with the reason."""
    path = Path(folder) / CERTIFICATE
    if Path(folder).is_dir() and not path.is_file():
        raise CheckpointError(
            f"{printable(str(folder))} has no {CERTIFICATE}. Export the model again: each export writes one."
        )
    data = read_json(path)
    refuse_later_format(path, data, _MARK, FORMAT)
    try:
        return read_settings(Certificate, {name: value for name, value in data.items() if name != "faults"})
    except ConfigError as wrong:
        raise CheckpointError(f"{printable(str(path))} is not a certificate: {' '.join(wrong.mistakes)}") from None


# As text


def certificate_rows(certificate: Certificate) -> list[tuple[str, str]]:
    """Return the lines of a certificate: what was measured, and the result."""
    own, limits = certificate.comparison, certificate.limits
    rows = [
        ("model", f"{certificate.original}, {_size(own.original_bytes)}"),
        ("export", f"{certificate.exported}, {_size(own.exported_bytes)}"),
        ("sentences", f"{own.sentences:,} of {certificate.text}"),
    ]
    if own.numbers is not None:
        limit = "no limit" if limits.difference is None else f"limit {limits.difference:g}"
        rows.append(
            (
                f"largest difference of {own.numbers.of}",
                f"{own.numbers.largest:.2g} ({limit}; mean {own.numbers.mean:.2g}, {own.numbers.tokens:,} tokens)",
            )
        )
    rows.append(
        (
            "identical translations",
            f"{own.identical:,} of {own.sentences:,} ({own.share:.1%}; limit {limits.identical:.0%})",
        )
    )
    rows.append(("first divergence", _divergence(own)))
    if own.same_tokens is not None:
        rows.append(("sentences with identical tokens", f"{own.same_tokens:,} of {own.sentences:,}"))
    if own.bleu is None:
        rows.append(("BLEU", "not measured, because there are no references"))
    else:
        bleu = own.bleu
        rows.append(("BLEU", f"{bleu.original:.2f} → {bleu.exported:.2f}"))
        interval = f"95 % interval {bleu.low:+.2f} to {bleu.high:+.2f}"
        rows.append(
            (
                "difference of BLEU",
                f"{bleu.difference:+.2f} ({interval}; limit {-limits.bleu_drop:g}), {bleu.signature}",
            )
        )
    rows.append(
        ("speed", f"{own.original_speed:,.0f} → {own.exported_speed:,.0f} sentences/s on {certificate.machine}")
    )
    rows.append(("verdict", verdict(certificate)))
    return [(name, printable(value)) for name, value in rows]


def verdict(certificate: Certificate) -> str:
    """Return the verdict as a clause."""
    faults = certificate.faults
    return "within the limits" if not faults else f"beyond the limits: {'; '.join(faults)}"


def certificate_markdown(certificate: Certificate) -> str:
    """Return the certificate as a page."""
    title = f"# Certificate: {TITLES[certificate.target]}, {certificate.precision}"
    lines = [title, "", "| measured | result |", "| --- | --- |"]
    for name, value in certificate_rows(certificate):
        cell = value.replace("|", "¦")
        lines.append(f"| {name} | {cell} |")
    notes = [
        "",
        "Both programs translated the same sentences by greedy search. Numbers are compared on the translations of the "
        "model, token by token: logits where the program returns them, otherwise log-probabilities.",
        "",
        f"Model {certificate.model}; text {certificate.text_sha256[:16]}; clearhead {certificate.clearhead_version}.",
    ]
    return "\n".join(lines + notes) + "\n"


def _divergence(comparison: ExportComparison) -> str:
    place = comparison.divergence
    if place is None:
        return "none"
    margin = "" if place.margin is None else f"; their logits differ by {place.margin:.2g} in the model"
    tokens = f"'{place.original}' in the model, '{place.exported}' in the export"
    return f"sentence {place.sentence:,}, token {place.token}: {tokens}{margin}"


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:.1f} MB" if num_bytes >= 100_000 else f"{num_bytes / 1e3:.1f} kB"

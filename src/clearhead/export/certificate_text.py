"""A certificate as text: rows of a table, and Markdown."""

from clearhead.errors import printable
from clearhead.export.certificate import Certificate, ExportComparison
from clearhead.export.targets import TITLES


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
        ("identical translations", f"{own.identical:,} of {own.sentences:,} ({own.share:.1%}; {_least(certificate)})")
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


def _least(certificate: Certificate) -> str:
    return f"limit {certificate.limits.identical:.0%}"


def _divergence(comparison: ExportComparison) -> str:
    place = comparison.divergence
    if place is None:
        return "none"
    margin = "" if place.margin is None else f"; their logits differ by {place.margin:.2g} in the model"
    tokens = f"'{place.original}' in the model, '{place.exported}' in the export"
    return f"sentence {place.sentence:,}, token {place.token}: {tokens}{margin}"


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:.1f} MB" if num_bytes >= 100_000 else f"{num_bytes / 1e3:.1f} kB"

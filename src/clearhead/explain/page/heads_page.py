"""The report of `clearhead heads` as one self-contained HTML page: layers × heads, one head, and a table to sort.

Styles and tools are those of the page of an explanation. The table is part of the HTML, so that it needs no script.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from clearhead.explain.head_report import HeadReport
from clearhead.explain.head_tables import head_notes
from clearhead.explain.page.page import PACKAGE, embedded_json
from clearhead.worksheet.render.page import document, escape, minified, package_file

SIGNIFICANT = 0.05
_COLUMNS = (
    ("kind", "Kind", None),
    ("confidence", "Confidence", 2),
    ("offset", "Offset", 0),
    ("offset_share", "Offset share", 2),
    ("first_share", "First token", 2),
    ("end_share", "End token", 2),
    ("alignment_error", "AER %", 1),
    ("importance", "Importance", 4),
    ("loss_change", "Δ loss", 4),
    ("loss_p_value", "p (loss)", 3),
    ("loss_change_alone", "Δ loss alone", 4),
    ("bleu_change", "Δ BLEU", 2),
    ("bleu_p_value", "p (BLEU)", 3),
)
_SIGNED = ("offset", "loss_change", "loss_change_alone", "bleu_change")


def heads_page(report: HeadReport, model: str) -> str:
    """Return the page; `model` is the name of the model."""
    style = minified(
        package_file("sheet.css") + package_file("explain.css", PACKAGE) + package_file("heads.css", PACKAGE)
    )
    script = package_file("elements.js", PACKAGE) + "\n" + package_file("heads.js", PACKAGE)
    return document(f"Attention heads of {model}", style, script, 'class="clearhead explanation"', _body(report, model))


def _body(report: HeadReport, model: str) -> Iterator[str]:
    data = report.to_dict()
    yield f"<header><h1>Attention heads of {escape(model)}</h1>"
    yield f'<p class="model">{escape(_summary(report))}</p></header>'
    yield "<main>"
    yield '<section id="atlas" aria-labelledby="atlas-title"><h2 id="atlas-title">Atlas of heads</h2>'
    yield (
        '<p class="lead">Every head of the model. The stronger the colour of its field, the more the head matters by '
        f"the chosen measure. * marks a significant change (corrected p below {SIGNIFICANT}). Below it are the kind "
        "of the head and its confidence. Select a head to see all its numbers.</p>"
    )
    yield "<noscript><p>The atlas needs JavaScript; the table below does not. No data leaves this file.</p></noscript>"
    yield "</section>"
    yield '<section id="all" aria-labelledby="all-title"><h2 id="all-title">All heads</h2>'
    yield '<p class="lead">Select a heading to sort by it.</p>'
    yield from _table(data["heads"])
    yield "</section>"
    yield '<section id="meaning" aria-labelledby="meaning-title"><h2 id="meaning-title">What is measured</h2>'
    notes = "".join(f"<li>{escape(note)}</li>" for note in head_notes(report))
    yield f'<ul class="notes">{notes}</ul></section></main>'
    embedded = embedded_json({**data, "significant": SIGNIFICANT})
    yield f'<script type="application/json" id="report">{embedded}</script>'


def _summary(report: HeadReport) -> str:
    layers = len({row.head.where for row in report.rows})
    num_sentences = dict(part.split(":", 1) for part in report.loss.signature.split("|") if ":" in part)["sentences"]
    parts = [
        f"{len(report.rows)} heads in {layers} attention layers",
        f"measured on {int(num_sentences):,} {'sentence' if num_sentences == '1' else 'sentences'}",
        f"loss {report.loss.value:.4f} nats per token",
    ]
    return " · ".join(parts if report.bleu is None else [*parts, f"BLEU {report.bleu.value:.2f}"])


def _table(heads: list[Mapping[str, Any]]) -> Iterator[str]:
    columns = [column for column in _COLUMNS if any(head[column[0]] is not None for head in heads)]
    yield '<div class="box" tabindex="0" role="region" aria-label="Table of all heads"><table class="report">'
    yield "<thead><tr>"
    headings = [("head", "Head"), *(column[:2] for column in columns)]
    for name, title in headings:
        yield f'<th scope="col" data-name="{name}">{escape(title)}</th>'
    yield "</tr></thead><tbody>"
    for head in heads:
        cells = "".join(f"<td>{escape(_cell(head, name, decimals))}</td>" for name, _, decimals in columns)
        yield f'<tr><th scope="row">{escape(head["head"])}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _cell(head: Mapping[str, Any], name: str, decimals: int | None) -> str:
    value = head[name]
    if value is None:
        return "–"
    if decimals is None:
        return str(value)
    text = f"{value:+.{decimals}f}" if name in _SIGNED and value != 0 else f"{value:.{decimals}f}"
    return text.replace("-", "−")

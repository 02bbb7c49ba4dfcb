"""The film of a run as one self-contained page: a slider over the updates, sentences, attention and curves."""

from collections.abc import Iterator

from clearhead.explain.curve_style import round_ticks, tick_label
from clearhead.explain.curves import LABELS, CurvePoint
from clearhead.explain.film.data import first_view, page_data, shown_layers
from clearhead.explain.film.scenes import RunFilm
from clearhead.worksheet.render.page import document, escape, minified, package_file

_PACKAGE = "clearhead.explain.film"
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 360, 150, 44, 14, 8, 24  # of a curve


def film_page(film: RunFilm) -> str:
    """Return the page."""
    style = minified(package_file("sheet.css") + package_file("film.css", _PACKAGE))
    lines = [
        *_header(film),
        "<main>",
        *_controls(film),
        '<div class="stage"><div class="scene">',
        *_sentences(film),
        *_attention(film),
        "</div>",
        *_curves(film),
        "</div></main>",
        f'<script type="application/json" id="film">{page_data(film)}</script>',
    ]
    title = f"Film of the training: {film.name}"
    return document(title, style, package_file("film.js", _PACKAGE), 'class="clearhead film"', lines)


def _header(film: RunFilm) -> Iterator[str]:
    first, last = film.frames[0].step, film.frames[-1].step
    yield f"<header><h1>Film of the training: {escape(film.name)}</h1>"
    yield (
        f"<p>{_count(len(film.sentences), 'pinned sentence')}, translated at {_count(len(film.frames), 'validation')}, "
        f"from update {first:,} to update {last:,}.</p>"
    )
    if film.num_skipped:
        yield f'<p class="warning">{_count(film.num_skipped, "frame")} with other sentences not shown.</p>'
    yield '<noscript><p class="warning">Without scripts, this page shows only the last frame.</p></noscript></header>'


def _controls(film: RunFilm) -> Iterator[str]:
    last = len(film.frames) - 1
    yield (
        '<form class="player" hidden><div class="buttons">'
        '<button type="button" id="back" aria-label="Previous frame">◀</button>'
        '<button type="button" id="play">Play</button>'
        '<button type="button" id="next" aria-label="Next frame">▶</button></div>'
        f'<label>Update <input type="range" id="time" min="0" max="{last}" value="{last}" step="1"></label>'
        '<output id="now" for="time"></output></form>'
    )


def _sentences(film: RunFilm) -> Iterator[str]:
    """Yield the sentences with the translations of the last frame; the script shows those of other frames."""
    yield (
        '<section><h2>Sentences</h2><fieldset class="pinned"><legend>Choose a sentence to see its attention. '
        "Underlined: words that the frame before did not have.</legend>"
    )
    for index, sentence in enumerate(film.sentences):
        checked = " checked" if index == 0 else ""
        yield f'<div class="sentence-card"><label><input type="radio" name="sentence" value="{index}"{checked}> '
        yield f'<span dir="auto" class="source">{escape(sentence.source)}</span></label>'
        yield f'<p class="translation" dir="auto">{escape(sentence.translation)}</p>'
        if sentence.reference is not None:
            yield f'<p class="reference">Reference: <span dir="auto">{escape(sentence.reference)}</span></p>'
            yield f'<p class="match">{_match(film, index)}</p>'
        yield "</div>"
    yield "</fieldset></section>"


def _match(film: RunFilm, index: int) -> str:
    number = film.first_match(index)
    if number is None:
        return "Not yet translated as the reference."
    step = f"update {film.frames[number].step:,}"
    return f'First translated as the reference: <button type="button" data-frame="{number}">{step}</button>'


def _attention(film: RunFilm) -> Iterator[str]:
    layers, view = shown_layers(film), first_view(film)
    options = "".join(
        f'<option value="{layer}"{" selected" * (layer == view.layer)}>layer {layer + 1} of {film.num_layers}</option>'
        for layer in layers
    )
    yield (
        '<section class="attention" id="attention" hidden><h2>Tokens and cross-attention</h2>'
        '<p class="sentence">The probability of each token of the translation:</p><ol class="tokens" id="tokens"></ol>'
        f'<div class="controls"><label>Decoder <select id="layer">{options}</select></label>'
        f'<label>Rows <select id="rows"><option value="0">where the token is predicted</option><option value="1"'
        f"{' selected' * view.is_input}>where the token is the input</option></select></label></div>"
        '<p class="sentence">Each row shows how much a token of the translation attends to each token of the sentence '
        f"(mean over the heads of the layer).{_note(film)}</p>"
        '<div class="box"><table class="map" id="map"><caption>Cross-attention</caption><thead></thead><tbody></tbody>'
        '</table></div><p class="cell-line" id="cell"></p></section>'
    )


def _note(film: RunFilm) -> str:
    layers = shown_layers(film)
    if len(layers) == film.num_layers:
        return ""
    return f" Only layer {layers[0] + 1} is shown, because the attention of all layers is too large for a page."


def _curves(film: RunFilm) -> Iterator[str]:
    yield '<section class="curves"><h2>Curves</h2>'
    last = film.frames[-1].step
    for metric, points in film.curves.items():
        yield from _curve(metric, [point for point in points if point.value is not None], last)
    yield "</section>"


def _curve(metric: str, points: list[CurvePoint], last: int) -> Iterator[str]:
    if not points:
        return
    label = escape(LABELS.get(metric, metric))
    values = [point.value or 0.0 for point in points]
    x_ticks = round_ticks(0.0, float(max(last, points[-1].updates)), 4)
    y_ticks = round_ticks(min(values), max(values), 3)
    x_scale = (_WIDTH - _LEFT - _RIGHT) / (x_ticks[-1] - x_ticks[0])
    y_scale = (_HEIGHT - _TOP - _BOTTOM) / (y_ticks[-1] - y_ticks[0])
    places = [
        (_LEFT + point.updates * x_scale, _HEIGHT - _BOTTOM - (value - y_ticks[0]) * y_scale)
        for point, value in zip(points, values, strict=True)
    ]
    end = f"{values[-1]:.4g}"
    yield f'<figure class="curve" data-metric="{escape(metric)}" data-left="{_LEFT}" data-scale="{x_scale:.8g}">'
    yield f"<figcaption>{label} <b></b></figcaption>"
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label} by updates, at the end {end}">'
    for tick in y_ticks:
        y = _HEIGHT - _BOTTOM - (tick - y_ticks[0]) * y_scale
        yield f'<path class="grid" d="M{_LEFT},{y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{tick_label(tick)}</text>'
    for tick in x_ticks:
        yield f'<text x="{_LEFT + tick * x_scale:.1f}" y="{_HEIGHT - 7}" text-anchor="middle">{tick_label(tick)}</text>'
    yield f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>'
    yield f'<path class="mark" d="M0,{_TOP}V{_HEIGHT - _BOTTOM}" transform="translate({_LEFT} 0)"/></svg></figure>'


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

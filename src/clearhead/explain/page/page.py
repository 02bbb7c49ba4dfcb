"""The explanation of a model as one self-contained HTML page, from the data that `clearhead explain` writes as JSON.

The script draws what is in the data. Its files form one element, whose hash is in the policy of the page.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clearhead.worksheet.render.page import content_policy, document, escape, minified, package_file, tag
from clearhead.worksheet.render.roles import ATTENTION, FEED_FORWARD, KEY, QUERY, RESIDUAL, VALUE, Role

PACKAGE = "clearhead.explain.page"
# In this order: a file may use at load time only what the files before it define.
SCRIPTS = (
    *("elements", "data", "grid", "strip", "lanes", "why", "machine"),
    *("sums", "atlas", "word", "search", "compare", "explain"),
)
_ROLES = (QUERY, KEY, VALUE, ATTENTION, FEED_FORWARD, RESIDUAL)
_NUM_ALTERNATIVES = 3  # in the table for readers without JavaScript


def explanation_page(data: Mapping[str, Any]) -> str:
    """Return the page of an explanation, or of a comparison of two sentences."""
    return document(_title(data), _style(), _script(), 'class="clearhead explanation"', _body(data))


def explanation_policy() -> str:
    """Return the Content-Security-Policy of these pages: that of each is the same, because it depends on no data."""
    return content_policy(_style(), _script())


def _style() -> str:
    return minified(package_file("sheet.css") + package_file("explain.css", PACKAGE))


def _script() -> str:
    return "\n".join(package_file(f"{name}.js", PACKAGE) for name in SCRIPTS)


def _title(data: Mapping[str, Any]) -> str:
    if "clearhead_comparison" in data:
        return f"“{data['word']}” in two sentences"
    text = (data["target"] or data["source"])["text"]
    return str(text) or "Explanation"


def _body(data: Mapping[str, Any]) -> Iterator[str]:
    yield "<header>"
    yield from _heading(data)
    yield f'<p class="model">{escape(_model_line(data["model"], len(data.get("removed_heads", ()))))}</p>'
    for note in _notes(data):
        yield f'<p class="warning">{escape(note)}</p>'
    yield from _missing(data)
    roles = "".join(f'<li class="{role.name}">{tag(role)}</li>' for role in _roles(data))
    yield f'<ul class="legend" aria-label="Colours and letters">{roles}</ul></header>' if roles else "</header>"
    yield '<nav aria-label="Sections"><ul></ul></nav>'
    yield f'<main><div id="fallback">{"".join(_without_script(data))}</div></main>'
    yield f'<script type="application/json" id="explanation">{embedded_json(data)}</script>'


def embedded_json(data: Mapping[str, Any]) -> str:
    """Return JSON that cannot end its script element: `<` is written as an escape, and everything is ASCII."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _heading(data: Mapping[str, Any]) -> Iterator[str]:
    if "clearhead_comparison" in data:
        yield f"<h1>{escape(_title(data))}</h1>"
        return
    source, target = data["source"], data["target"]
    if source and target:
        yield f'<p class="source" dir="auto">{escape(source["text"])}</p>'
    yield f'<h1 dir="auto">{escape(_title(data))}</h1>'


def _model_line(model: Mapping[str, Any], num_removed: int) -> str:
    encoder, decoder = model["encoder_layers"], model["decoder_layers"]
    layers = {
        "encoder-decoder": f"{encoder} encoder and {decoder} decoder layers",
        "decoder": f"{decoder} decoder layer{'' if decoder == 1 else 's'}",
        "encoder": f"{encoder} encoder layer{'' if encoder == 1 else 's'}",
    }[model["shape"]]
    parameters = f"{model['parameters']:,} parameters"
    if _architecture(model) != "transformer":
        return f"{model['name']} · {_kind(model)} · {layers} · width {model['d_model']} · {parameters}"
    heads = f"{model['heads']} heads" + (f" ({num_removed} removed)" if num_removed else "")
    return f"{model['name']} · {layers} of {heads} · width {model['d_model']} · {parameters}"


def _architecture(model: Mapping[str, Any]) -> str:
    """Return the architecture; data of earlier versions are those of a Transformer."""
    return str(model.get("architecture", "transformer"))


def _kind(model: Mapping[str, Any]) -> str:
    """Return what kind of model it is: `recurrent (LSTM, additive attention)`."""
    if _architecture(model) == "convolutional":
        return f"convolutional (kernel {model['kernel']})"
    attention = f"{model['attention']} attention" if model["attention"] not in (None, "none") else "no attention"
    return f"recurrent ({model['cell'].upper()}, {attention})"


def _roles(data: Mapping[str, Any]) -> Sequence[Role]:
    """Return the roles whose colours and letters the page uses."""
    if _architecture(data["model"]) == "transformer":
        return _ROLES
    return [ATTENTION] if any((data.get("attention") or {}).values()) else []


def _missing(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts that a model of this architecture does not have, with the reasons."""
    if data.get("missing"):
        yield f"<p>Not on this page, because the model is {escape(_architecture(data['model']))}:</p>"
        items = (f"<li>{escape(part['part'])}: {escape(part['reason'])}.</li>" for part in data["missing"])
        yield f'<ul class="missing">{"".join(items)}</ul>'


def _notes(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a reader must know: a window, a given translation, and where another token is more probable."""
    if data.get("window"):
        yield data["window"]["note"]
    target = data.get("target") or {}
    if target.get("prefix"):
        yield f"The beginning “{target['prefix']}” was given, and the model continued it."
    elif target.get("is_given") and data.get("source"):
        yield "This translation was given; the model did not choose it."
    translation = data.get("translation") or {}
    beam = translation.get("settings", {}).get("beam", 1)
    for difference in translation.get("differences", ()):
        best = f"“{_word(difference['best_piece'])}” ({difference['best_probability']:.4f})"
        own = f"“{_word(difference['piece'])}” ({difference['probability']:.4f})"
        place = f"At token {difference['position'] + 1}"
        if _is_given(data, difference["position"]):
            yield f"{place} the model itself would choose {best} instead of {own}, which was given."
        elif beam > 1:
            yield f"{place} {best} is more probable than {own}, but the beam of {beam} compares whole translations."
        else:
            yield (
                f"{place} {best} is slightly more probable than {own}, which was chosen: the numbers on this page are "
                "calculated with more digits (float64) than the translation was."
            )
    yield from data.get("notes", ())


def _word(piece: str) -> str:
    """Return a piece of a tokeniser as readers write it; a piece that is only a space stays as it is."""
    return piece.replace("▁", " ").strip() or piece


def _is_given(data: Mapping[str, Any], position: int) -> bool:
    """Return whether a token belongs to the beginning of the translation that was given."""
    pieces = [str(token.get("piece", "")) for token in data.get("tokens", ())[: position + 1]]
    text = "".join(pieces).replace("▁", " ").strip()
    return bool(text) and str((data.get("target") or {}).get("prefix") or "").strip().startswith(text)


def _without_script(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words and their probabilities as a table, for a browser without JavaScript."""
    yield "<p>The pictures of this page need JavaScript. No data leaves this file.</p>"
    if not data.get("tokens"):
        return
    yield "<table><thead><tr><th>Token</th><th>Probability</th><th>Most probable tokens</th></tr></thead><tbody>"
    for token in data["tokens"]:
        others = (f"{one['piece']} {one['probability']:.4f}" for one in token["alternatives"][:_NUM_ALTERNATIVES])
        cells = (token["piece"], f"{token['probability']:.4f}", ", ".join(others))
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</tbody></table>"

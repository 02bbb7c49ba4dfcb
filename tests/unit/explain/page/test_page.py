"""The page of an explanation as text: self-contained, small, and safe with any piece of a model."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from clearhead.explain.page.heads_page import heads_page
from clearhead.explain.page.page import explanation_page
from tests.generated_pages import generated_page
from tests.unit.explain.page import explanation_by_hand as by_hand
from tests.unit.explain.page.report_by_hand import report

HOSTILE = "</script><img src=x onerror=alert(1)>&\"'\u2028"


def embedded(page: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="explanation">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


@pytest.mark.parametrize("name", ["translation", "text", "classes", "recurrent", "comparison"])
def test_the_page_has_all_its_data_and_needs_nothing_else(name: str) -> None:
    data = getattr(by_hand, name)()
    page = explanation_page(data)
    assert embedded(page) == data
    addresses = set(re.findall(r"https?://[^\s\"']+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}, "the name of SVG elements, which is never opened"
    assert not re.search(r"<link|<iframe|\bsrc=|@import|url\(", page)


def test_the_page_without_model_data_is_under_300_kilobytes() -> None:
    data = by_hand.translation()
    page = explanation_page(data)
    assert len(page.encode()) - len(json.dumps(embedded(page), separators=(",", ":"))) < 300_000


def test_no_piece_can_end_the_script_or_become_an_element() -> None:
    data = by_hand.translation()
    data["source"]["pieces"][0] = data["tokens"][0]["alternatives"][0]["piece"] = HOSTILE
    data["source"]["text"] = data["target"]["text"] = data["model"]["name"] = HOSTILE
    data["notes"] = [HOSTILE]
    page = explanation_page(data)
    assert embedded(page) == data
    assert "<img" not in page
    assert page.count("</script>") == 2
    assert "&lt;/script&gt;&lt;img src=x" in page


def test_a_text_with_half_a_character_can_be_written() -> None:
    data = by_hand.translation()
    data["source"]["text"] = data["source"]["pieces"][0] = "caf\udce9"
    page = explanation_page(data)
    assert page.encode()
    assert embedded(page)["source"]["text"] == "caf\udce9"


def test_the_header_says_what_was_translated_by_which_model() -> None:
    page = explanation_page(by_hand.translation())
    assert '<h1 dir="auto">Der schwarze Hund springt über den Zaun</h1>' in page
    assert '<p class="source" dir="auto">The black dog &lt;b&gt;s over the &quot;fence&quot;</p>' in page
    assert (
        "runs/en-de &lt;small&gt; · 3 encoder and 3 decoder layers of 5 heads · width 35 · 123,457 parameters" in page
    )
    assert "2 decoder layers of 3 heads" in explanation_page(by_hand.text())
    assert "<h1>“bank” in two sentences</h1>" in explanation_page(by_hand.comparison())


def test_the_header_says_what_a_recurrent_model_does_not_have() -> None:
    page = explanation_page(by_hand.recurrent())
    assert "recurrent (LSTM, additive attention) · 3 encoder and 3 decoder layers · width 35 · 123,457" in page
    assert "<p>Not on this page, because the model is recurrent:</p>" in page
    assert "<li>logit lens: it reads the residual stream &lt;of&gt; a Transformer.</li>" in page
    assert page.count('<li class="attention">') == 1
    assert '<li class="query">' not in page
    bare = explanation_page(by_hand.recurrent("none"))
    assert "recurrent (LSTM, no attention)" in bare
    assert 'class="legend"' not in bare
    convolutional = by_hand.recurrent()
    convolutional["model"] |= {"architecture": "convolutional", "kernel": 5}
    assert "convolutional (kernel 5) · 3 encoder" in explanation_page(convolutional)
    assert "Not on this page" not in explanation_page(by_hand.translation())


def test_the_header_warns_of_a_window_a_given_translation_and_another_choice_in_float64() -> None:
    data = by_hand.translation()
    assert 'class="warning"' not in explanation_page(data)
    data["target"] |= {"is_given": True, "prefix": "Der <b>"}
    assert "“Der &lt;b&gt;” was given, and the model continued it." in explanation_page(data)
    data["target"]["prefix"] = ""
    data["window"] = {"note": "The first 97 of 130 source tokens are shown."}
    difference = {
        "position": 2,
        "token": 5,
        "piece": "▁Hund",
        "probability": 0.4,
        "best_token": 6,
        "best_piece": "▁Rüde",
    }
    data["translation"]["differences"] = [{**difference, "best_probability": 0.41}]
    data["notes"] = ["Weights are rounded."]
    warnings = re.findall(r'<p class="warning">(.*?)</p>', explanation_page(data))
    assert warnings == [
        "The first 97 of 130 source tokens are shown.",
        "This translation was given; the model did not choose it.",
        "At token 3 “Rüde” (0.4100) is more probable than “Hund” (0.4000), but the beam of 3 compares whole "
        "translations.",
        "Weights are rounded.",
    ]
    data["translation"]["settings"]["beam"] = 1
    sentence = "At token 3 “Rüde” (0.4100) is slightly more probable than “Hund” (0.4000), which was chosen"
    assert sentence in explanation_page(data)
    data["target"]["prefix"] = "".join(token["piece"] for token in data["tokens"][:3]).replace("▁", " ").strip()
    sentence = "At token 3 the model itself would choose “Rüde” (0.4100) instead of “Hund” (0.4000), which was given."
    assert sentence in explanation_page(data)


def test_without_javascript_there_is_a_table_of_the_words() -> None:
    page = explanation_page(by_hand.translation())
    (table,) = re.findall(r'<div id="fallback">(.*?)</div>', page, re.DOTALL)
    assert table.count("<tr>") == 1 + len(by_hand.TARGET)
    assert "<td>▁Der</td><td>0.9500</td><td>▁Der 0.9500, ▁Eine 0.0300, ▁&lt;i&gt; 0.0100</td>" in table


def test_every_script_and_style_of_the_folder_is_part_of_a_page() -> None:
    page = explanation_page(by_hand.translation())
    scripts = [file for file in files("clearhead.explain.page").iterdir() if file.name.endswith(".js")]
    assert len(scripts) > 5
    for script in scripts:
        shown = heads_page(report(), "runs/a") if script.name == "heads.js" else page
        assert script.read_text(encoding="utf-8") in shown, script.name


@pytest.mark.parametrize("name", ["explanation", "explanation-multi30k"])
def test_a_page_in_the_documentation_holds_its_explanation(name: str) -> None:
    data = json.loads((Path(__file__).parents[4] / "docs" / "inside" / f"{name}.json").read_text(encoding="utf-8"))
    page = generated_page(f"inside/{name}.html")
    assert embedded(page) == data
    assert len(data["tokens"]) > 5

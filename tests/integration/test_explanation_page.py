"""The page of an explanation in a real browser: its numbers, the keyboard, phones, dark mode, printing, and axe."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead.explain.page.page import explanation_page
from tests.generated_pages import generated_page
from tests.integration.browser import IN_BROWSER, SCREENS, Desk, serious_faults
from tests.unit.explain.page import explanation_by_hand as by_hand

pytestmark = IN_BROWSER
ACTIVE = "document.activeElement.getAttribute('aria-label')"
HALF = 0.5000001e-4  # of the last decimal shown


def show(desk: Desk, data: dict[str, Any], **options: Any) -> Any:
    page = desk.show(explanation_page(data), **options)
    page.wait_for_selector("body[data-ready]")
    return page


def number(text: str) -> float:
    return float(text.replace("−", "-").strip("() "))


def numbers_of(page: Any, selector: str) -> list[float]:
    return [number(text) for text in page.locator(selector).all_text_contents()]


def open_cell(page: Any, row: int, column: int) -> None:
    page.locator(f"#head td[data-at='{row},{column}']").click()


def test_removed_heads_have_no_heat_map_and_do_not_count_in_means(desk: Desk) -> None:
    data = by_hand.translation()
    layers = data["attention"]["cross"]
    removed = [*layers[1][2:], *layers[0]]
    for head in removed:
        head |= {"kind": "removed", "confidence": None, "weights": [[0.0] * len(row) for row in head["weights"]]}
    data["removed_heads"] = [head["name"] for head in removed]
    page = show(desk, data)
    assert f"5 heads ({len(removed)} removed)" in page.locator(".model").inner_text()
    thumbnails = page.locator(".thumbnail.removed")
    assert thumbnails.count() == len(removed) == 8
    assert thumbnails.first.get_attribute("aria-label") == "Cross-attention, layer 1, head 1: removed"
    opened = page.locator("#head h3").inner_text()
    thumbnails.first.click(force=True)
    assert page.locator("#head h3").inner_text() == opened
    means = page.evaluate("[0, 1].map((layer) => weightsOf(stackOf('cross'), layer, 'mean'))")
    assert not np.any(means[0])
    np.testing.assert_allclose(means[1], np.mean([head["weights"] for head in layers[1][:2]], axis=0))
    assert page.evaluate("headOptions(stackOf('cross'), 1).map((option) => option[0])") == ["mean", 0, 1]
    assert serious_faults(page) == []


@pytest.mark.parametrize(("row", "column"), [(2, 3), (0, 0), (7, 8)])
def test_the_shown_products_add_up_to_the_shown_score(desk: Desk, row: int, column: int) -> None:
    data = by_hand.translation()
    sums = data["sums"]["decoder.1.cross_attention.head.1"]
    page = show(desk, data)
    open_cell(page, row, column)
    page.locator("#head .working summary").click()
    query, key, products = (
        numbers_of(page, f"#head .products tbody {cell}") for cell in ("td.query", "td.key", "td:last-child")
    )
    assert query == sums["q"][row]
    assert key == sums["k"][column]
    for product, q, k in zip(products, query, key, strict=True):
        assert product == pytest.approx(q * k, abs=HALF)
    total = number(page.locator(".products-total").inner_text())
    assert total == pytest.approx(sum(products), abs=HALF * (1 + len(products)))
    formula = page.locator("#head .working .formula").first.inner_text()
    score, inside, divided = formula.replace("−", "-").split(" = ")
    assert float(score) == sums["scores"][row][column]
    assert float(score) == pytest.approx(total / np.sqrt(7), abs=3 * HALF)
    assert divided == f"{total:.4f} / 2.6458"
    assert inside.endswith("/ √7")


def test_the_products_of_a_projection_add_up_to_the_numbers_of_a_vector(desk: Desk) -> None:
    data = by_hand.translation()
    sums = data["sums"]["decoder.1.cross_attention.head.1"]
    draw = np.random.default_rng(3)
    numbers = {"query_input": (8, 11), "key_input": (9, 11)}
    numbers |= {f"w_{letter}": (11, 7) for letter in "qkv"} | {f"b_{letter}": (7,) for letter in "qkv"}
    sums["projections"] = {name: draw.normal(size=size).round(6).tolist() for name, size in numbers.items()}
    page = show(desk, data)
    open_cell(page, 2, 3)
    working = page.locator("#head .working")
    for vector, row, name in (("q", 2, "query_input"), ("v", 3, "key_input")):
        working.get_by_label("Vector", exact=True).select_option(vector)
        working.get_by_label("Number of the projection").select_option(index=4)
        working.locator("summary").last.click()
        columns = [numbers_of(page, f"#head .projections tbody td:nth-child({n})") for n in (2, 3, 4)]
        parts = sums["projections"]
        assert columns[0] == parts[name][row]
        assert columns[1] == [weights[4] for weights in parts[f"w_{vector}"]]
        assert columns[2] == pytest.approx(np.multiply(columns[0], columns[1]), abs=0.51e-6)
        total = number(page.locator(".projection-total").inner_text())
        assert total == pytest.approx(sum(columns[2]) + parts[f"b_{vector}"][4], abs=1e-5)
        assert f"{vector}[5] = {total:.4f}".replace("-", "−") in working.inner_text()
    assert serious_faults(page) == []


def test_the_shown_parts_add_up_on_the_page_of_a_trained_model(desk: Desk) -> None:
    page = desk.show(generated_page("inside/explanation.html"))
    page.wait_for_selector("body[data-ready]")
    for row, column in ((2, 4), (9, 11)):
        open_cell(page, row, column)
        page.locator("#head .working summary").click()
        products = numbers_of(page, "#head .products tbody td:last-child")
        total = number(page.locator(".products-total").inner_text())
        assert len(products) == 64
        assert total == pytest.approx(sum(products), abs=HALF * 65)
        score = number(page.locator("#head .working .formula").first.inner_text().split(" = ")[0])
        assert score == pytest.approx(total / 8, abs=2e-3)  # queries and keys have four decimals
        sums = [page.locator(f"#head .{name}").inner_text().split(" = ") for name in ("row-sum", "value-sum")]
        assert number(sums[0][0].removeprefix("row")) == pytest.approx(1, abs=HALF * len(sums[0][1].split(" + ")))
        parts = [np.prod([number(factor) for factor in part.split("×")]) for part in sums[1][1].split(" + ")]
        assert number(sums[1][0].removeprefix("z[1]")) == pytest.approx(sum(parts), abs=HALF)


def test_the_shown_parts_of_the_softmax_the_row_and_the_output_add_up(desk: Desk) -> None:
    data = by_hand.translation()
    sums, head = data["sums"]["decoder.1.cross_attention.head.1"], data["attention"]["cross"][1][1]
    page = show(desk, data)
    open_cell(page, 4, 5)
    softmax = page.locator("#head .working .formula").nth(1)
    powers = np.exp([number(text) for text in softmax.locator("sup").all_text_contents()])
    assert number(softmax.inner_text().split(" = ")[0]) == head["weights"][4][5]
    assert powers[0] / powers[1:].sum() == pytest.approx(head["weights"][4][5], abs=0.02)  # scores with two decimals
    total, parts = page.locator("#head .row-sum").inner_text().removeprefix("row").split(" = ")
    assert [number(part) for part in parts.split(" + ")] == head["weights"][4]
    assert number(total) == pytest.approx(sum(head["weights"][4]), abs=HALF)
    for dimension in (0, 6):
        page.locator("#head .working select").select_option(index=dimension)
        total, parts = re.sub(r"^z\[\d\]", "", page.locator("#head .value-sum").inner_text()).split(" = ")
        pairs = [part.split("×") for part in parts.split(" + ")]
        assert [number(value) for _, value in pairs] == [line[dimension] for line in sums["v"]]
        assert number(total) == pytest.approx(sum(number(w) * number(v) for w, v in pairs), abs=HALF)
        assert number(total) == pytest.approx(sums["z"][4][dimension], abs=1e-3)


@pytest.mark.parametrize("is_shifted", [False, True])
def test_a_head_shows_the_weights_of_the_data_and_cross_attention_also_shifted_by_a_row(
    desk: Desk, is_shifted: bool
) -> None:
    data = by_hand.translation()
    page = show(desk, data)
    page.get_by_role("button", name="Cross-attention, layer 3, head 2").click()
    if is_shifted:
        page.locator("#head").get_by_text("Row that reads it").click()
    page.locator("#head").get_by_label("Decimals").select_option("4")
    rows = [numbers_of(page.locator("#head"), f"tbody tr:nth-child({n + 1}) td") for n in range(8 - is_shifted)]
    assert rows == data["attention"]["cross"][2][1]["weights"][int(is_shifted) :]
    names = page.locator("#head tbody th").all_text_contents()
    assert names == [piece.lstrip("▁") for piece in by_hand.TARGET][: 8 - is_shifted]
    # the sum behind a cell of the shifted map is that of the row below
    page.locator("#head tbody tr").nth(2).locator("td").nth(1).click()
    assert page.locator("#head .working h4").inner_text().startswith(f"{names[2]} → black: weight ")
    read, predicted = ("Hund", by_hand.TARGET[3].lstrip("▁")) if is_shifted else ("schwarze", "Hund")
    hints = page.locator("#head .working .hint").all_inner_texts()
    assert hints[0] == f"In this row the decoder has read {read}, whose vector is the query, and predicts {predicted}."
    assert hints[-1].endswith("repeat the command with --sums decoder.2.cross_attention.head.1.")


def test_only_the_keyboard_is_needed_from_the_atlas_to_the_sum_and_back(desk: Desk) -> None:
    data = by_hand.translation()
    page = show(desk, data)
    page.locator("#atlas .sheet").nth(2).locator(".thumbnail[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(ACTIVE).startswith("Cross-attention, layer 2, head 2: ")
    page.keyboard.press("Enter")
    weights = data["attention"]["cross"][1][1]["weights"]
    sentence = f"Der → The: weight {weights[0][0]:.4f}"
    assert page.evaluate(ACTIVE) == sentence
    assert page.locator("#status").inner_text() == sentence
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(ACTIVE) == f"schwarze → black: weight {weights[1][1]:.4f}"
    outline = page.evaluate(
        "getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth"
    )
    assert outline == "solid3px"
    zoom = page.locator("#head table.map")
    assert zoom.get_attribute("data-zoom") == "heat"
    page.keyboard.press("Enter")
    assert zoom.get_attribute("data-zoom") == "digits"
    assert page.evaluate("document.activeElement.textContent") == f"{weights[1][1]:.2f}"
    page.keyboard.press("Enter")
    assert page.locator("#head .working").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#head .working").is_hidden()
    page.keyboard.press("Escape")
    assert zoom.get_attribute("data-zoom") == "heat"
    page.keyboard.press("Escape")
    assert page.evaluate(ACTIVE).startswith("Cross-attention, layer 2, head 2: ")


def test_a_selected_word_shows_what_it_looked_at_and_why_it_was_chosen(desk: Desk) -> None:
    data = by_hand.translation()
    page = show(desk, data)
    mean = np.mean([head["weights"] for head in data["attention"]["cross"][1]], axis=0)
    word = page.get_by_role("button", name="word 4: springt")
    word.click()
    page.locator("h1").hover()
    notes = ".lane.source .note"
    assert numbers_of(page, notes) == pytest.approx(mean[3], abs=0.00501)
    page.locator("#words").get_by_text("Row that reads it").click()
    assert numbers_of(page, notes) == pytest.approx(mean[4], abs=0.00501), "one row below"
    page.locator("#words").get_by_label("Head", exact=True).select_option("3")
    assert numbers_of(page, notes) == pytest.approx(data["attention"]["cross"][1][3]["weights"][4], abs=0.00501)
    token = data["tokens"][3]
    text = page.locator(".why").inner_text()
    assert "Why springt?" in text
    assert f"Probability {100 * token['probability']:.0f} % (log P −{-token['log_prob']:.4f})" in text
    assert "the most probable token here. It is ahead from layer 3 on." in text
    assert page.locator(".why .lens li").count() == 4
    values = [numbers_of(page, f".methods tbody td:nth-child({n}) .value") for n in (2, 3, 4)]
    for shown, expected in zip(values, token["contributions"].values(), strict=True):
        assert shown == pytest.approx(expected, abs=0.00501)
    assert token["is_disputed"]
    assert "The methods disagree on the most important word: " in text


@pytest.mark.parametrize(("width", "is_paper"), [(1280, False), (390, False), (1280, True)])
def test_ribbons_end_at_their_words(desk: Desk, width: int, is_paper: bool) -> None:
    page = show(desk, by_hand.translation(), viewport={"width": width, "height": 900})
    page.get_by_role("button", name="word 2: schwarze").click()
    page.locator("h1").hover()
    if is_paper:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator(".lanes").bounding_box()["width"] == 690
    word, *sources = page.evaluate(
        "[...document.querySelectorAll('.word[aria-pressed=true], .lane.source .word')].sort((a, b) => b.matches('[aria-pressed=true]') - a.matches('[aria-pressed=true]')).map(one => one.getBoundingClientRect().toJSON())"
    )
    ends = page.evaluate(
        "[...document.querySelectorAll('.lanes .of-place')].map(path => [0, path.getTotalLength()].map(at => { const p = path.getPointAtLength(at).matrixTransform(path.getScreenCTM()); return [p.x, p.y] }))"
    )
    assert len(ends) == len(sources)
    for (start, end), source in zip(ends, sources, strict=True):
        edges = [("left", "right", start, source, 0), ("left", "right", end, word, 0)] if width == 1280 else []
        edges += [("top", "bottom", start, source, 1), ("top", "bottom", end, word, 1)] if width == 390 else []
        for low, high, point, box, axis in edges:
            assert point[axis] == pytest.approx((box[low] + box[high]) / 2, abs=1)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".lanes").bounding_box()["width"] > 690 or width == 390


def test_bars_of_signed_methods_are_in_proportion_on_both_sides(desk: Desk) -> None:
    data = by_hand.translation()
    data["tokens"][0]["contributions"]["leave_out"] = [-1.0, -0.5, 0.25, 1.0, 0.0, 0.0, 0.0]
    page = show(desk, data)
    page.get_by_role("button", name="word 1: Der").click()
    widths = [
        bar.evaluate("fill => fill.getBoundingClientRect().width")
        for bar in page.locator(".methods td:nth-child(4) .fill").all()
    ]
    assert widths[1] / widths[0] == pytest.approx(0.5, abs=0.02)
    assert widths[2] / widths[0] == pytest.approx(0.25, abs=0.02)
    assert widths[3] == pytest.approx(widths[0], rel=0.01)


def test_a_token_can_be_followed_through_every_station(desk: Desk) -> None:
    data = by_hand.translation()
    page = show(desk, data)
    machine = page.locator("#machine")
    assert machine.locator(".station").count() == 1 + 3 * 2 + 1 + 1 + 3 * 3 + 1
    assert machine.locator(".ribbons path").count() == 3
    for step in range(1, 19):
        assert f"Step {step} of 19" in machine.locator(".place").inner_text()
        assert machine.locator(".detail").inner_text().strip()
        machine.get_by_text("Next step").click()
    assert machine.get_by_text("Next step").is_disabled()
    machine.get_by_label("Follow").select_option("4")
    assert "über has 59 %" in machine.locator(".detail").inner_text()
    machine.get_by_role("button", name="Decoder layer 2: Cross-attention").click()
    rows = [numbers_of(machine, f".detail tbody tr:nth-child({n + 1}) td") for n in range(5)]
    expected = [head["weights"][4] for head in data["attention"]["cross"][1]]
    assert np.array(rows) == pytest.approx(np.array(expected), abs=0.00501)


def test_one_word_is_drawn_and_saved_as_svg(desk: Desk, tmp_path: Path) -> None:
    data = by_hand.translation()
    page = show(desk, data)
    part = page.locator("#word")
    part.get_by_label("Word", exact=True).select_option("2")
    part.get_by_label("Head", exact=True).select_option("4")
    weights = data["attention"]["encoder"][1][4]["weights"]
    drawn = part.locator("svg .number").all_text_contents()
    assert [float(text) for text in drawn] == pytest.approx([*weights[2], *(row[2] for row in weights)], abs=0.00501)
    with page.expect_download() as download:
        part.get_by_text("Save as SVG").click()
    download.value.save_as(tmp_path / "word.svg")
    picture = ElementTree.parse(tmp_path / "word.svg").getroot()
    texts = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"dog", "attends to", "is attended to by"} <= set(texts)
    assert any("<b>" in text for text in texts)


def test_several_hops_stand_beside_the_single_layers(desk: Desk) -> None:
    data = by_hand.translation()
    page = show(desk, data)
    part = page.locator("#word")
    part.get_by_label("Word", exact=True).select_option("3")
    strips = part.locator(".strip")
    for n, expected in enumerate(
        (
            np.mean([head["weights"] for head in data["attention"]["encoder"][2]], axis=0)[3],
            data["rollout"]["encoder"][2][3],
        )
    ):
        cells = strips.nth(n).locator("tbody tr").nth(2).locator("td")
        labels = [cell.get_attribute("aria-label").rpartition(", ")[2] for cell in cells.all()]
        assert [float(label) for label in labels] == pytest.approx(list(expected), abs=0.00011)
    assert part.locator(".equation").inner_text() == "Ã = ½(Ā + I), Rl = Ãl Rl−1"
    assert part.locator(".equation sub").all_inner_texts() == ["l", "l", "l−1"]
    part.get_by_label("Attention", exact=True).select_option("cross")
    assert strips.nth(1).locator("thead th").count() == len(by_hand.SOURCE) + len(by_hand.TARGET)


def test_the_beam_is_a_tree_and_the_arrow_keys_follow_its_branches(desk: Desk) -> None:
    data = by_hand.translation()
    page = show(desk, data)
    nodes = data["search"]["nodes"]
    assert page.locator(".node").count() == len(nodes)
    boxes = page.evaluate("[...document.querySelectorAll('.node')].map(n => [n.offsetLeft, n.offsetTop])")
    assert len({tuple(box) for box in boxes}) == len(nodes), "no two nodes have one place"
    page.locator(".node[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(ACTIVE) == "Step 1: “Der” kept. log P −0.1500, total −0.1500."
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(ACTIVE).endswith(
        "dropped. log P −0.1500, total −2.3000. Reason: 3 better candidates were kept."
    )
    assert page.locator("#search .lead").last.inner_text() == page.evaluate(ACTIVE)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(ACTIVE).startswith("Step 1: ")
    page.get_by_text("Only what was kept to the end").click()
    ends = [node for node in nodes if node["fate"] == "ended" or node["is_best"]]
    parents = {node["id"]: node["parent"] for node in nodes}
    wanted = set()
    for node in ends:
        place = node["id"]
        while place is not None:
            wanted.add(place)
            place = parents.get(place)
    assert page.locator(".node").count() == len(wanted) < sum(node["fate"] != "dropped" for node in nodes)
    page.locator(".node.best").last.click()
    assert "score" in page.locator("#search .lead").last.inner_text()


def test_a_long_sentence_gets_a_window_of_tokens(desk: Desk) -> None:
    page = show(desk, by_hand.long_translation())
    assert page.evaluate("document.querySelectorAll('*').length") < 20_000
    assert page.locator(".lane.source .word:visible").count() == 40
    assert "First source word" in page.locator("#words .tools").inner_text()
    page.get_by_role("button", name="Encoder self-attention, layer 1, head 1").click()
    head = page.locator("#head")
    assert head.locator("td[data-at]").count() == 24 * 24
    assert head.locator("canvas").evaluate("canvas => [canvas.width, canvas.height]") == [97, 97]
    head.get_by_label("First row").fill("73")
    assert head.locator("tbody th").last.inner_text() == "</s>"
    box = head.locator("canvas").bounding_box()
    head.locator("canvas").click(position={"x": box["width"] * 0.5, "y": 4})
    assert head.locator("tbody th").first.inner_text() == "s0"
    assert head.locator("thead th").first.inner_text() == "s36"


def test_selecting_a_word_brings_the_source_word_it_looked_at_most_into_the_window(desk: Desk) -> None:
    data = by_hand.long_translation()
    for head in data["attention"]["cross"][1]:
        head["weights"][3] = [0.0] * 90 + [1.0] + [0.0] * 6
    page = show(desk, data)
    page.get_by_role("button", name="word 3: Hund").click()
    assert page.get_by_role("button", name="source 91: s90").is_visible()


@pytest.mark.parametrize("name", ["text", "classes", "comparison"])
def test_other_models_and_comparisons_show_the_parts_they_have(desk: Desk, name: str) -> None:
    page = show(desk, getattr(by_hand, name)())
    sections = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    expected = ["compare"] if name == "comparison" else ["words", "machine", "atlas", "word"]
    assert sections == expected
    text = page.locator("main").inner_text()
    if name == "classes":
        assert "trade & law" in text
        assert "Why sport?" in text
    if name == "comparison":
        assert page.locator("mark").all_text_contents() == ["bank", "bank"]
        assert numbers_of(page, ".numbers td:nth-child(2)") == [0.97, 0.81, 0.6, 0.52]
    assert "undefined" not in text
    assert "NaN" not in text


@pytest.mark.parametrize("attention", ["additive", "none"])
def test_a_recurrent_model_has_the_parts_that_exist_for_it(desk: Desk, attention: str) -> None:
    data = by_hand.recurrent(attention)
    page = show(desk, data)
    sections = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    assert sections == (["words", "atlas", "word", "search"] if attention == "additive" else ["words", "search"])
    page.get_by_role("button", name="word 3: Hund").click()
    why = page.locator(".why").inner_text()
    assert "logit lens" not in why
    assert "layer" not in why
    assert page.locator(".why .methods thead th").count() == (4 if attention == "additive" else 3)
    text = page.locator("main").inner_text()
    assert "undefined" not in text
    assert "NaN" not in text
    if attention == "none":
        assert "no attention weights that could be drawn" in text
        assert page.locator(".lanes .ribbons path").count() == 0
        assert set(page.locator(".lane.source .note").all_text_contents()) == {""}
        return
    weights = data["attention"]["cross"][0][0]["weights"][2]
    notes = page.locator(".lane.source .note").all_text_contents()
    assert [float(note) for note in notes] == pytest.approx(weights, abs=0.0051)
    assert "Cross-attention, layer 3" in page.locator("#head h3").inner_text()
    open_cell(page, 2, 1)
    assert "The products behind the scores of this model are not in this file." in page.locator("#atlas").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["translation", "long_translation", "comparison"])
def test_on_a_phone_the_page_does_not_scroll_sideways(desk: Desk, name: str, scheme: Any) -> None:
    page = show(desk, getattr(by_hand, name)(), viewport={"width": 360, "height": 640}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)")
    if name == "translation":
        assert "columns" in page.locator(".lanes").get_attribute("class")


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize("name", ["translation", "classes", "recurrent", "comparison"])
def test_axe_finds_no_serious_fault(desk: Desk, name: str, width: int, scheme: Any) -> None:
    page = show(desk, getattr(by_hand, name)(), viewport={"width": width, "height": 900}, color_scheme=scheme)
    if name == "translation":
        open_cell(page, 2, 1)
        for summary in page.locator("summary").all():
            summary.click()
    assert serious_faults(page) == []


def test_pieces_with_markup_are_shown_as_text(desk: Desk) -> None:
    data = by_hand.translation()
    data["target"]["pieces"][2] = "▁<img src=x onerror=alert(1)>"
    page = show(desk, data)
    assert page.locator("img").count() == 0
    assert page.locator(".lane.target .text").nth(2).inner_text() == "<img src=x onerror=alert(1)>"


def test_without_javascript_the_words_are_a_table(desk: Desk) -> None:
    page = desk.show(explanation_page(by_hand.translation()), java_script_enabled=False)
    assert page.locator("#fallback tbody tr").count() == len(by_hand.TARGET)
    assert page.get_by_text("The pictures of this page need JavaScript.").is_visible()


def test_the_first_section_is_built_before_the_others(desk: Desk) -> None:
    """The browser can paint what is most important before the rest is built, however large the model is."""
    text = explanation_page(by_hand.translation(layers=6, heads=8))
    listener = "document.addEventListener('DOMContentLoaded', () => (window.early = ['.lanes', '.why', '.sheets', '.tree'].map(name => Boolean(document.querySelector(name)))))"
    context = desk.browser.new_context()
    desk.contexts.append(context)
    context.add_init_script(listener)
    page = context.new_page()
    (desk.folder / "page.html").write_text(text, encoding="utf-8")
    page.goto((desk.folder / "page.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("window.early") == [True, True, False, False]
    assert page.locator(".sheets").count() == page.locator(".tree").count() == 1


def test_nothing_moves_by_itself_where_motion_is_to_be_reduced(desk: Desk) -> None:
    look = "getComputedStyle(document.documentElement).scrollBehavior"
    data = by_hand.comparison()
    assert show(desk, data).evaluate(look) == "smooth"
    assert show(desk, data, reduced_motion="reduce").evaluate(look) == "auto"


def test_it_prints_on_a4(desk: Desk, tmp_path: Path) -> None:
    page = show(desk, by_hand.translation(), color_scheme="dark", viewport={"width": 703, "height": 900})
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    edges = page.evaluate(
        "[...document.querySelectorAll('h1, .lanes, .card, .weights table, .thumbnail, .strip, .tree, .rails')].map(one => [one.className, one.getBoundingClientRect().right])"
    )
    assert len(edges) > 50
    assert [edge for edge in edges if edge[1] > 186 / 25.4 * 96 + 1] == []  # A4 between its margins
    page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True, print_background=True)
    assert (tmp_path / "page.pdf").stat().st_size > 10_000

"""The pages Why and Exercises in a real browser, before a real server with the built-in model."""

import re
from io import BytesIO
from typing import Any

import pytest
from openpyxl import Workbook

from tests.integration.browser import IN_BROWSER
from tests.integration.served_pages import BAD, SECONDS, SENTENCE, Visitor, faults_in, focused, frame_of, tab_to

pytestmark = IN_BROWSER
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


# ---- Why ----


def explain(page: Any, sentence: str = SENTENCE, number: int = 1) -> Any:
    page.get_by_label("Sentence", exact=True).fill(sentence)
    page.get_by_role("button", name="Explain", exact=True).click()
    frame = frame_of(page, "#result", number)
    frame.wait_for_selector("body[data-ready]")
    return frame


def test_why_a_word_is_selected_a_head_opened_and_switched_off_and_its_sums_are_loaded(visitor: Visitor) -> None:
    page = visitor.open("/why")
    frame = explain(page)
    assert frame.locator("h1").inner_text() == "El perro negro corre."
    frame.get_by_role("button", name=re.compile("^word 3: negro")).click()
    assert frame.locator(".why h3").inner_text() == "Why negro?"
    frame.get_by_role("button", name=re.compile("^Cross-attention, layer 1, head 5")).click()
    panel = frame.locator("#head .live-head")
    panel.get_by_role("button", name="Switch this head off").click()
    expect(panel.locator("dd").first).to_have_text("El perro negro corre.", timeout=SECONDS)
    before, after = re.findall("−[0-9.]+", panel.locator(".hint").last.inner_text())
    assert before != after
    assert frame.locator(".thumbnail.off").count() == 1
    panel.get_by_role("button", name="Switch this head on again").click()
    assert panel.locator("dd").count() == 0
    panel.get_by_role("button", name="Load the sums behind its cells").click()
    expect(panel.get_by_role("button")).to_have_count(1, timeout=SECONDS)
    expect(panel.get_by_role("status")).to_contain_text("Select a cell of the matrix below")
    frame.locator("#head td[data-at='1,2']").click()
    frame.locator("#head .working summary").first.click()
    assert frame.locator("#head .products tbody tr").count() == 64  # the width of a head
    assert faults_in(frame) == []


def test_why_a_translation_changes_when_heads_are_switched_off_one_after_another(visitor: Visitor) -> None:
    page = visitor.open(f"/why#text={SENTENCE}&target=es")  # a link from the page Translate
    frame = frame_of(page, "#result")
    frame.wait_for_selector("body[data-ready]")
    panel = frame.locator("#head .live-head")
    for layer in (1, 2, 3):
        for head in (1, 2, 3, 4, 5):
            frame.get_by_role("button", name=re.compile(f"^Cross-attention, layer {layer}, head {head}:")).click()
            panel.get_by_role("button", name="Switch this head off").click()
    after = panel.locator("dd").nth(1)
    expect(after).to_be_visible(timeout=SECONDS)
    assert after.locator("mark").count() > 0  # without any cross-attention the model cannot know the sentence
    assert panel.locator("dd").first.inner_text() == "El perro negro corre."
    panel.get_by_role("button", name="Switch all heads on").click()
    assert frame.locator(".thumbnail.off").count() == 0
    visitor.are_errors_expected = True
    page.route("**/v1/what-if", lambda route: route.abort())
    panel.get_by_role("button", name="Switch this head off").click()
    expect(panel.get_by_role("alert")).to_contain_text("The server cannot be reached")
    assert frame.locator(".thumbnail.off").count() == 0  # nothing is off
    assert "Off:" not in panel.inner_text()


def test_why_a_forced_word_starts_another_translation_and_back_undoes_it(visitor: Visitor) -> None:
    page = visitor.open("/why")
    frame = explain(page)
    frame.get_by_role("button", name=re.compile("^word 1: El")).click()
    force = frame.get_by_role("button", name=re.compile("^Force the word ")).first
    word = (force.get_attribute("aria-label") or "").removeprefix("Force the word ")
    force.focus()
    page.keyboard.press("Enter")
    frame = frame_of(page, "#result", 2)
    assert page.get_by_label("Start the translation with").input_value() == word
    assert frame.locator("h1").inner_text().startswith(word)
    assert "was given, and the model continued it" in frame.locator("header .warning").first.inner_text()
    frame.wait_for_function("document.activeElement.ariaLabel?.startsWith('word 1: ')")  # the focus is on the word
    page.go_back()
    assert frame_of(page, "#result", 3).locator("h1").inner_text() == "El perro negro corre."
    assert page.get_by_label("Start the translation with").input_value() == ""
    page.go_forward()
    assert frame_of(page, "#result", 4).locator("h1").inner_text().startswith(word)
    page.get_by_label("Sentence", exact=True).press_sequentially("!")  # another sentence is translated freely again
    assert page.get_by_label("Start the translation with").input_value() == ""


def test_why_two_sentences_are_compared(visitor: Visitor) -> None:
    page = visitor.open("/why")
    page.get_by_role("button", name="Compare two").click()
    page.get_by_label("Sentence", exact=True).fill("The bank of the river is green.")
    page.get_by_label("Second sentence").fill("The bank of the city is closed.")
    page.get_by_label("Word (optional)").fill("bank")
    page.get_by_role("button", name="Compare", exact=True).click()
    frame = frame_of(page, "#result")
    frame.wait_for_selector("body[data-ready]")
    assert frame.locator("h1").inner_text() == "“bank” in two sentences"
    assert frame.locator("mark").all_inner_texts() == ["bank", "bank"]
    assert faults_in(frame) == []


def test_why_only_the_keyboard_is_needed(visitor: Visitor) -> None:
    page = visitor.open("/why")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    page.keyboard.press("Enter")
    tab_to(page, "text")
    page.keyboard.type(SENTENCE)
    page.keyboard.press("Enter")
    frame = frame_of(page, "#result")
    frame.wait_for_selector("body[data-ready]")
    for _ in range(12):  # through the frame, up to the words of the translation
        page.keyboard.press("Tab")
        if "word" in (frame.evaluate("document.activeElement.className") or ""):
            break
    page.keyboard.press("Enter")
    assert frame.locator(".word[aria-pressed=true]").count() == 1


def test_why_an_error_is_one_sentence_and_the_page_goes_on(visitor: Visitor) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/why")
    page.get_by_label("Sentence", exact=True).fill("word " * 300)
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(page.locator("#error")).to_contain_text("tokens", timeout=SECONDS)
    explain(page)
    assert page.locator("#error").inner_text() == ""


def test_why_its_controls_fit_a_phone_in_the_dark(visitor: Visitor) -> None:
    page = visitor.open("/why", viewport={"width": 360, "height": 740}, color_scheme="dark", locale="es")
    page.get_by_label("Frase", exact=True).fill(SENTENCE)
    page.keyboard.press("Enter")
    frame = frame_of(page, "#result")
    frame.wait_for_selector("body[data-ready]")
    assert frame.locator(".force").count() > 0
    frame.get_by_role("button", name="Desactivar esta cabeza").click()
    expect(frame.locator(".live-head dt").first).to_have_text("Antes", timeout=SECONDS)
    assert frame.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert faults_in(frame) == []


# ---- Exercises ----


def cell(page: Any, name: str, row: int, column: int) -> Any:
    return page.get_by_label(f"{name}, row {row}, column {column}", exact=True)


def test_exercises_a_matrix_is_typed_and_solved(visitor: Visitor) -> None:
    page = visitor.open("/exercises")
    frame = frame_of(page, "#sheet")
    assert frame.locator("h1").inner_text() == "Self-attention of three tokens"
    cell(page, "X", 1, 1).fill("7")
    given = frame_of(page, "#sheet", 2).locator(".matrix.given tbody td").first
    assert given.inner_text() == "7"
    cell(page, "X", 1, 1).fill("seven")
    visitor.are_errors_expected = True
    expect(page.locator("#solve-error")).to_contain_text("'seven'")
    assert page.locator("[aria-invalid]").get_attribute("aria-label") == "X, row 1, column 1"
    page.locator("#form .entry").last.scroll_into_view_if_needed()
    expect(page.locator("#solve-error")).to_be_in_viewport()  # the sheet is grey, and one still sees why
    cell(page, "X", 1, 1).fill("")
    expect(page.locator("#solve-error")).to_have_text("X: row 1, column 1: the number is missing.")
    cell(page, "X", 1, 1).fill("1,5")
    expect(page.locator("#solve-error")).to_have_text("")
    assert page.locator("[aria-invalid]").count() == 0
    page.reload()  # what was typed is still there
    assert frame_of(page, "#sheet").locator(".matrix.given tbody td").first.inner_text() == "1.5"
    page.evaluate("location.hash = '#kind=softmax'")
    expect(page.locator("#kind")).to_have_value("softmax")


def test_exercises_errors_of_all_kinds_mark_the_cell_that_they_name(visitor: Visitor) -> None:
    page = visitor.open("/exercises#kind=transformer")
    named = {
        "encoder, item 1, self_attention, W_Q: row 1, column 2: 'x'": "encoder 1.self_attention.W_Q, row 1, column 2",
        "target_embedding: the vector of 'Tengo': row 1, column 1: 'x'": "target_embedding, row 2, column 1",
        "W_out: row 2, column 1: 'x'": "W_out, row 2, column 1",
        "the sheet is too large": None,
    }
    marked = page.evaluate(
        """async (messages) => {
          const { markFaults } = await import("/static/faults.js");
          const form = document.querySelector("#form");
          return messages.map((message) => {
            markFaults(form, `${message} is not a number.`, "solve-error");
            return form.querySelector("[aria-invalid]")?.getAttribute("aria-label") ?? null;
          });
        }""",
        list(named),
    )
    assert marked == list(named.values())


def test_exercises_cells_of_a_spreadsheet_are_pasted_and_the_grid_takes_their_size(visitor: Visitor) -> None:
    page = visitor.open("/exercises#kind=softmax")
    page.evaluate("navigator.clipboard.writeText('1\\t2\\t3\\t4\\r\\n0,5\\t6\\t7\\t8\\r\\n')")
    page.locator("#kind").select_option("dense-layer")
    width = page.locator("[aria-label=X] tr:first-child input").count()
    grid = page.locator("table[aria-label=W]")
    num_cells = grid.locator("input").count()
    cell(page, "W", 1, 1).focus()
    page.keyboard.press("ControlOrMeta+v")
    rows = grid.evaluate("(grid) => [...grid.rows].map((row) => [...row.cells].map((cell) => cell.firstChild.value))")
    assert rows == [["1", "2", "3", "4"], ["0.5", "6", "7", "8"]]
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "W, row 1, column 1"
    assert width > 0
    page.keyboard.press("ControlOrMeta+z")
    assert grid.locator("input").count() == num_cells != 8
    page.keyboard.press("ControlOrMeta+v")
    page.get_by_role("button", name="Remove the last column of W").click()
    page.get_by_role("button", name="Add a row to W").click()
    assert grid.locator("input").count() == 9


def test_exercises_every_kind_has_a_form_that_is_solved(visitor: Visitor) -> None:
    page = visitor.open("/exercises")
    kinds = page.locator("#kind option").evaluate_all("options => options.map((option) => option.value)")
    assert len(kinds) == 18
    answers = page.evaluate(
        """async (kinds) => {
          const { makeForm } = await import("/static/problem_form.js");
          const { writeYaml } = await import("/static/yaml.js");
          const all = await (await fetch("/v1/exercises")).json();
          const fields = (problem) => all.kinds.find((kind) => kind.name === (problem.kind ?? "parts"))?.fields ?? [];
          const solve = async (problem) => {
            const body = JSON.stringify({ problem, format: "json" });
            const answer = await fetch("/v1/solve", { method: "POST", headers: { "Content-Type": "application/json" }, body });
            return (await answer.json()).result ?? "failed";
          };
          const results = {};
          for (const { name, example, data } of all.kinds) {
            const read = makeForm(document.createElement("div"), { problem: structuredClone(data), fieldsOf: fields, onChange: () => {} });
            const sheets = [await solve(example), await solve(read()), await solve(writeYaml(read()))].map((sheet) => JSON.stringify(sheet));
            results[name] = sheets.every((sheet) => sheet === sheets[0]) && sheets[0] !== '"failed"';
          }
          return results;
        }""",
        kinds,
    )
    assert answers == dict.fromkeys(kinds, True)


def test_exercises_a_field_is_added_and_removed(visitor: Visitor) -> None:
    page = visitor.open("/exercises")
    page.get_by_label("Add a field to the problem").select_option("scale")
    entry = page.locator("#form [aria-label=scale]")
    entry.fill("none")
    frame_of(page, "#sheet")
    page.get_by_role("button", name="Remove scale").click()
    assert entry.count() == 0
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Add a field to the problem"


def test_exercises_the_problem_is_edited_as_yaml(visitor: Visitor) -> None:
    page = visitor.open("/exercises#kind=softmax")
    page.get_by_role("button", name="YAML").click()
    text = page.get_by_label("Problem as YAML")
    assert text.input_value().startswith("kind: softmax\n")
    text.fill("kind: softmax\ntitle: My own\nscores: [1, 2, 3]\n")
    expect(page.frame_locator("#sheet iframe:not(.waiting)").locator("h1")).to_have_text("My own")
    page.get_by_role("button", name="Form").click()
    assert cell(page, "scores", 1, 3).input_value() == "3"
    visitor.are_errors_expected = True
    page.get_by_role("button", name="YAML").click()
    text.fill("kind: softmax\nscores: [1, 2")
    assert page.get_by_role("button", name="Form").is_disabled()  # a text that is not YAML has no form
    page.locator("#kind").select_option("positions")
    page.get_by_role("button", name="Form").click()
    assert page.locator("#form").is_visible()


def test_exercises_a_working_is_marked_with_errors_carried_forward(visitor: Visitor) -> None:
    page = visitor.open("/exercises")
    page.get_by_role("tab", name="Mark a working").click()
    frame = frame_of(page, "#marks")
    assert "Marks:" in frame.locator("body").inner_text()
    assert frame.locator("td.carried").count() > 0
    assert page.locator("#live").inner_text() == "The working has errors."
    assert faults_in(frame) == []


def test_exercises_an_own_working_is_plain_text_of_the_problem_under_solve_and_never_has_old_marks(
    visitor: Visitor,
) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/exercises")
    page.get_by_role("tab", name="Mark a working").click()
    frame_of(page, "#marks")
    page.get_by_label("Sample").select_option("")  # my own
    expect(page.locator("#marks")).to_be_hidden()
    assert page.get_by_label("The working is of the problem under").is_checked()
    box = page.get_by_label("The working", exact=True)
    expect(box).to_be_focused()
    # the exercise does not state a scale: these scores are not divided by it
    box.fill(
        "Q = [-0.1 1.3; -0.1 1; 1.2 0.6]\nK = [1.1 1.7; 0.3 0.7; 0.5 1.6]\n"
        "S = [2.1 0.88 2.03; 1.59 0.67 1.55; 2.34 0.78 1.56]\nA = [0.45 0.13 0.42; 0.42 0.17 0.41; 0.6 0.13 0.27]\n"
    )
    frame = frame_of(page, "#marks", 2)
    notes = frame.locator("header .beside").all_inner_texts()
    assert notes[0].startswith("The exercise does not state the convention. Your lines use no scaling")
    assert notes[1].startswith("Not handed in: V")
    page.reload()  # the working and its marks are still there
    assert frame_of(page, "#marks").locator("header .beside").count() == 2
    expect(box).to_have_value(re.compile("^Q = "))
    page.get_by_label("The working is of the problem under").uncheck()
    expect(page.locator("#mark-error")).to_contain_text("tick the box below it")
    expect(page.locator("#marks")).to_be_hidden()


def test_exercises_a_working_is_opened_from_a_file(visitor: Visitor) -> None:
    page = visitor.open("/exercises#kind=softmax")
    page.get_by_role("tab", name="Mark a working").click()
    frame_of(page, "#marks")
    text = f"problem: {{kind: softmax, title: '{BAD}', scores: [1, 2]}}\nwritten:\n  weights: [0.27, 0.73]\n"
    page.locator("#working-file").set_input_files(
        {"name": f"{BAD}.yaml".replace("/", "_"), "mimeType": "text/yaml", "buffer": text.encode()}
    )
    expect(page.locator("#live")).to_have_text("The working is right.")
    assert page.locator("#file-name").inner_text().startswith("From the file <img src=x")
    assert "<script>" in frame_of(page, "#marks", 2).locator("h1").inner_text()
    assert [frame.evaluate("window.hacked ?? null") for frame in page.frames] == [None] * len(page.frames)


def test_exercises_a_spreadsheet_is_marked_against_the_problem_that_was_typed(visitor: Visitor) -> None:
    visitor.are_errors_expected = True  # the sample that is shown first is of another problem
    page = visitor.open("/exercises#kind=softmax")
    page.get_by_role("button", name="YAML").click()
    page.get_by_label("Problem as YAML").fill("kind: softmax\nscores: [1, 2]\n")
    page.get_by_role("tab", name="Mark a working").click()
    frame_of(page, "#marks")
    page.get_by_label("The working is of the problem under").check()
    for number, (weight, sentence) in enumerate([(0.73, "The working is right."), (0.63, "The working has errors.")]):
        book, content = Workbook(), BytesIO()
        for column, value in enumerate(("weights", 0.27, weight), 1):
            book.active.cell(1, column, value)
        book.save(content)
        file = {"name": f"{number}.xlsx", "mimeType": "application/octet-stream", "buffer": content.getvalue()}
        page.locator("#working-file").set_input_files(file)
        expect(page.locator("#live")).to_have_text(sentence)
        assert page.locator("#file-name").inner_text() == f"From the file {number}.xlsx"


def test_exercises_only_the_keyboard_is_needed(visitor: Visitor) -> None:
    page = visitor.open("/exercises#kind=softmax")
    tab_to(page, "tab-solve")
    page.keyboard.press("ArrowRight")
    assert page.locator("#mark").is_visible()
    page.keyboard.press("ArrowLeft")
    tab_to(page, "as-form")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.at") == "0,0":
            break
    page.keyboard.type("9")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.at") == "0,1"

"""The web pages in a real browser, before a real server with the built-in model: every page's main way, the keyboard,
phones, dark mode, axe, and script in texts, which runs nowhere."""

import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from clearhead.serve import page_files
from tests.integration.browser import IN_BROWSER, serious_faults

uvicorn = pytest.importorskip("uvicorn", reason="the extra serve is not installed")

pytestmark = IN_BROWSER
ENGLISH = page_files.catalogue_of("en")
SENTENCE = "The black dog runs."
SECONDS = 60_000  # milliseconds that an explanation may take on a busy machine
BAD = "<img src=x onerror=\"top.hacked=1;window.hacked=1\"><script>window.hacked=1</script>"
WATCH = 'addEventListener("securitypolicyviolation", (e) => console.error("policy:", e.violatedDirective, e.blockedURI));'


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """Serve the built-in model on a free port, in a thread."""
    from clearhead.serve.app import create_app
    from clearhead.serve.server import Server
    from clearhead.serve.settings import ServeSettings

    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(Server(ServeSettings(log="off")))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


class Visitor:
    """Opens pages of the server, and records what the browser complains about and what is loaded from elsewhere."""

    def __init__(self, browser: Any, base: str) -> None:
        self.browser, self.base = browser, base
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.contexts: list[Any] = []
        self.are_errors_expected = False

    def open(self, path: str, *, is_ready: bool = True, **options: Any) -> Any:
        size = {"width": 1280, "height": 800}
        context = self.browser.new_context(**{"viewport": size, "locale": "en-GB", "reduced_motion": "reduce", **options})
        context.add_init_script(WATCH)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.note(message.text))
        page.on("pageerror", lambda error: self.note(str(error)))

        def refuse(route: Any) -> None:
            self.elsewhere.append(route.request.url)
            route.abort()

        page.route(re.compile(rf"^(?!{re.escape(self.base)}|blob:|about:)"), refuse)
        page.goto(self.base + path)
        if is_ready:
            page.wait_for_selector("body[data-ready]")
        return page

    def note(self, complaint: str) -> None:
        if not (self.are_errors_expected and complaint.startswith("Failed to load resource")):
            self.complaints.append(complaint)


@pytest.fixture
def visitor(browser: Any, base: str) -> Iterator[Visitor]:
    opened = Visitor(browser, base)
    yield opened
    for context in opened.contexts:
        context.close()
    assert opened.complaints == []
    assert opened.elsewhere == []


def frame_of(page: Any, box: str, number: int = 1) -> Any:
    """Return the document in the frame of a box, when it is drawn for the first time, or the second …"""
    page.wait_for_selector(f"{box}[data-shown='{number}'] iframe:not(.waiting)", timeout=SECONDS)
    return page.locator(f"{box} iframe:not(.waiting)").element_handle().content_frame()


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.textContent"))


def tab_to(page: Any, id_: str, most: int = 40) -> None:
    """Press Tab until an element has the focus, as a person without a mouse does."""
    for _ in range(most):
        if page.evaluate("document.activeElement.id") == id_:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{most} times Tab did not reach #{id_}, but {focused(page)}")


def faults_in(frame: Any) -> list[tuple[str, str]]:
    """Return what axe finds in a frame, where it must not load the styles again: the policy allows no requests."""
    return serious_faults(frame, {"resultTypes": ["violations"], "preload": False})


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


def test_why_a_forced_word_starts_another_translation(visitor: Visitor) -> None:
    page = visitor.open("/why")
    frame = explain(page)
    frame.get_by_role("button", name=re.compile("^word 1: El")).click()
    force = frame.get_by_role("button", name=re.compile("^Force the word ")).first
    word = (force.get_attribute("aria-label") or "").removeprefix("Force the word ")
    force.click()
    frame = frame_of(page, "#result", 2)
    assert page.get_by_label("Forced start").input_value() == word
    assert frame.locator("h1").inner_text().startswith(word)
    assert "was given, and the model continued it" in frame.locator("header .warning").first.inner_text()
    page.get_by_label("Sentence", exact=True).press_sequentially("!")  # another sentence is translated freely again
    assert page.get_by_label("Forced start").input_value() == ""


def test_why_two_sentences_are_compared(visitor: Visitor) -> None:
    page = visitor.open("/why")
    page.get_by_role("button", name="Compare two").click()
    page.get_by_label("Sentence", exact=True).fill("The bank of the river is green.")
    page.get_by_label("Second sentence").fill("The bank of the city is closed.")
    page.get_by_label("Word in both").fill("bank")
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
    cell(page, "X", 1, 1).fill("1/2")
    expect(page.locator("#solve-error")).to_have_text("")


def test_exercises_cells_of_a_spreadsheet_are_pasted_and_the_grid_takes_their_size(visitor: Visitor) -> None:
    page = visitor.open("/exercises#kind=softmax")
    page.evaluate("navigator.clipboard.writeText('1\\t2\\t3\\t4\\r\\n0,5\\t6\\t7\\t8\\r\\n')")
    page.get_by_label("Kind").select_option("dense-layer")
    width = page.locator("[aria-label=X] tr:first-child input").count()
    cell(page, "W", 1, 1).focus()
    page.keyboard.press("ControlOrMeta+v")
    grid = page.locator("table[aria-label=W]")
    assert [row.locator("input").evaluate_all("cells => cells.map((cell) => cell.value)") for row in grid.locator("tr").all()] == [
        ["1", "2", "3", "4"],
        ["0.5", "6", "7", "8"],
    ]
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "W, row 1, column 1"
    assert width > 0
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
    assert page.get_by_role("button", name="Form").is_disabled()
    page.get_by_label("Kind").select_option("positions")
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


def test_exercises_a_working_is_opened_from_a_file(visitor: Visitor) -> None:
    page = visitor.open("/exercises#kind=softmax")
    page.get_by_role("tab", name="Mark a working").click()
    frame_of(page, "#marks")
    text = f"problem: {{kind: softmax, title: '{BAD}', scores: [1, 2]}}\nwritten:\n  weights: [0.27, 0.73]\n".replace("\\", "")
    page.locator("#working-file").set_input_files({"name": f"{BAD}.yaml".replace("/", "_"), "mimeType": "text/yaml", "buffer": text.encode()})
    expect(page.locator("#live")).to_have_text("The working is right.")
    assert page.locator("#file-name").inner_text().startswith("From the file <img src=x")
    assert "<script>" in frame_of(page, "#marks", 2).locator("h1").inner_text()
    assert [frame.evaluate("window.hacked ?? null") for frame in page.frames] == [None] * len(page.frames)


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


# ---- Translate ----


def translation_of(page: Any) -> str:
    return str(page.locator("#output").inner_text()).strip()


def translate(page: Any, text: str, expected: str) -> None:
    page.get_by_label("Text to translate").fill(text)
    expect(page.locator("#output")).to_have_text(expected, timeout=SECONDS)


def lit(page: Any) -> tuple[list[str], list[str]]:
    return tuple(page.locator(f"{side} .lit").all_inner_texts() for side in ("#mirror", "#output"))


def test_translate_a_text_is_translated_after_a_pause_and_its_words_are_aligned(visitor: Visitor) -> None:
    page = visitor.open("/")
    page.get_by_label("Text to translate").press_sequentially(SENTENCE, delay=20)
    expect(page.locator("#output")).to_have_text("El perro negro corre.", timeout=SECONDS)
    page.get_by_role("button", name="negro").hover()
    assert lit(page) == (["black"], ["negro"])
    page.get_by_role("button", name="perro").focus()
    assert lit(page) == (["dog"], ["perro"])
    assert page.get_by_role("button", name="perro").get_attribute("aria-description") == "aligned with dog"
    word = page.locator("#mirror span").nth(1).bounding_box()
    page.mouse.move(word["x"] + word["width"] / 2, word["y"] + word["height"] / 2)  # over the text area above the mirror
    assert lit(page) == (["black"], ["negro"])
    page.get_by_label("Text to translate").focus()
    page.keyboard.press("Home")  # the caret is in the first word
    expect(page.locator("#mirror .lit")).to_have_text("The")
    assert lit(page) == (["The"], ["El"])


def test_translate_outdated_requests_are_aborted_and_unchanged_sentences_are_not_sent_again(visitor: Visitor) -> None:
    page = visitor.open("/")
    translate(page, SENTENCE, "El perro negro corre.")
    sent: list[Any] = []
    page.on("request", lambda request: sent.append(request) if request.url.endswith("/v1/translate") else None)
    held: list[Any] = []
    page.route("**/v1/translate", lambda route: held.append(route) if not held else route.continue_())
    box = page.get_by_label("Text to translate")
    box.fill(f"{SENTENCE} It is")
    expect(page.locator("#busy")).to_be_visible()
    while not held:
        page.wait_for_timeout(50)
    box.fill(f"{SENTENCE} It is late.")
    expect(page.locator("#output")).to_have_text("El perro negro corre. Es tarde.", timeout=SECONDS)
    assert [request.post_data_json["text"] for request in sent] == [["It is"], ["It is late."]]
    assert sent[0].failure == "net::ERR_ABORTED"
    held[0].abort()


def test_translate_an_alternative_replaces_the_translation_and_is_aligned(visitor: Visitor) -> None:
    page = visitor.open("/")
    translate(page, f"It is late.\n\n{SENTENCE}", "Es tarde.\n\nEl perro negro corre.")
    page.get_by_role("button", name="negro").click()
    box = page.get_by_role("dialog", name="Alternatives")
    expect(box.get_by_role("button").first).to_be_focused(timeout=SECONDS)
    assert faults_in(page) == []
    page.keyboard.press("ArrowDown")
    chosen = page.evaluate("document.activeElement.querySelector('.whole').textContent")
    page.keyboard.press("Enter")
    expect(page.locator("#output")).to_have_text(f"Es tarde.\n\n{chosen}", timeout=SECONDS)
    assert chosen != "El perro negro corre."
    assert not box.is_visible()
    assert lit(page)[0] == ["black"]  # the new word has the focus, and its alignment
    page.keyboard.press("Enter")
    expect(box).to_be_visible()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    assert page.evaluate("document.activeElement.classList.contains('word')")


def test_translate_copy_swap_detect_clear_and_a_link_that_can_be_shared(visitor: Visitor) -> None:
    page = visitor.open("/")
    translate(page, SENTENCE, "El perro negro corre.")
    page.get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == "El perro negro corre."
    expect(page.locator("#copy")).to_have_text("Copied")
    page.get_by_role("button", name="Swap languages").click()
    assert page.get_by_label("Text to translate").input_value() == "El perro negro corre."
    expect(page.locator("#output")).to_have_text("The black dog runs.", timeout=SECONDS)
    assert (page.locator("#source-language").input_value(), page.locator("#target-language").input_value()) == ("es", "en")
    page.get_by_label("Translate from").select_option("auto")
    expect(page.locator("#source-language option:checked")).to_have_text("Detected: Spanish", timeout=SECONDS)
    other = visitor.open(page.url.removeprefix(visitor.base))
    expect(other.locator("#output")).to_have_text("The black dog runs.", timeout=SECONDS)
    page.get_by_role("button", name="Clear the text").click()
    assert translation_of(page) == ""
    assert page.locator("#copy").is_disabled()
    page.get_by_label("Translate from").select_option("en")
    page.get_by_label("Translate into").select_option("hi")
    page.get_by_label("Text to translate").fill("It is late.")
    expect(page.locator("#output")).to_have_text(re.compile(r"^[\u0900-\u097f ।.]+$"), timeout=SECONDS)
    assert page.locator("#output").get_attribute("lang") == "hi"
    assert page.locator("#swap").is_disabled()  # there is no model from Hindi


def test_translate_why_leads_to_the_explanation_of_the_sentence(visitor: Visitor) -> None:
    page = visitor.open("/")
    translate(page, f"It is late. {SENTENCE}", "Es tarde. El perro negro corre.")
    page.get_by_role("button", name="negro").hover()
    page.locator("#why").click()
    frame = frame_of(page, "#result")
    assert page.get_by_label("Sentence", exact=True).input_value() == SENTENCE
    assert frame.locator("h1").inner_text() == "El perro negro corre."


def test_translate_only_the_keyboard_is_needed(visitor: Visitor) -> None:
    page = visitor.open("/")
    tab_to(page, "source")
    page.keyboard.type(SENTENCE)
    expect(page.locator("#output")).to_have_text("El perro negro corre.", timeout=SECONDS)
    for _ in range(8):
        page.keyboard.press("Tab")
        if focused(page) == "El":
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert focused(page) == "negro"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    assert focused(page) == "copy"  # the words are one stop of Tab


def test_translate_script_in_texts_and_answers_is_shown_and_never_run(visitor: Visitor) -> None:
    page = visitor.open("/")

    def answer(route: Any) -> None:
        words = [BAD, "fin"]
        one = {"translation": f"{BAD} fin", "source_words": [BAD], "target_words": words, "alignment": "0-0", "notes": [BAD]}
        alternative = {"text": BAD, "word": BAD, "probability": 0.5}
        route.fulfill(json={"source": "en", "target": "es", "translations": [one], "alternatives": [alternative]})

    page.route("**/v1/translate", answer)
    page.route("**/v1/alternatives", answer)
    page.get_by_label("Text to translate").fill(BAD)
    expect(page.locator("#output")).to_have_text(f"{BAD} fin")
    assert page.locator("#notes").inner_text() == BAD
    page.get_by_role("button", name="fin").click()
    expect(page.locator("#alternatives b")).to_have_text(BAD)
    assert page.evaluate("window.hacked ?? null") is None
    assert page.locator("#output img, #output script, #notes img, #alternatives img").count() == 0


def test_translate_an_error_of_the_server_is_shown_as_its_sentence(visitor: Visitor) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/")
    page.route("**/v1/translate", lambda route: route.fulfill(status=400, json={"error": f"bad <b>{BAD}</b>"}))
    page.get_by_label("Text to translate").fill(SENTENCE)
    expect(page.locator("#error")).to_have_text(f"bad <b>{BAD}</b>")
    page.unroute("**/v1/translate")
    page.route("**/v1/translate", lambda route: route.fulfill(status=401, json={"error": "an API key is required."}))
    page.get_by_label("Text to translate").fill("It is late.")
    expect(page.get_by_label("API key")).to_be_visible()
    page.unroute("**/v1/translate")
    with page.expect_request("**/v1/translate") as sent:
        page.get_by_label("API key").fill("secret")
        page.keyboard.press("Enter")
    assert sent.value.headers["authorization"] == "Bearer secret"
    expect(page.locator("#output")).to_have_text("Es tarde.", timeout=SECONDS)


def test_translate_a_document_is_uploaded_with_progress_and_downloaded(visitor: Visitor) -> None:
    page = visitor.open("/")
    name = f"{BAD} letter.md".replace("/", "_")
    text = f"# {SENTENCE}\n\nIt is late. `code` <b>{BAD}</b>\n"
    page.locator("#file").set_input_files({"name": name, "mimeType": "text/markdown", "buffer": text.encode()})
    row = page.get_by_role("listitem").filter(has_text="letter.md")
    download = row.get_by_role("link", name="Download")
    expect(download).to_be_visible(timeout=SECONDS)
    assert row.locator(".name").inner_text() == name
    with page.expect_download() as saved:
        download.click()
    translated = Path(saved.value.path()).read_text("utf-8")
    assert translated.startswith("# El perro negro corre.")
    assert "`code`" in translated
    expect(row).to_contain_text("The server has deleted the file")
    assert page.evaluate("window.hacked ?? null") is None
    assert faults_in(page) == []


def test_translate_a_document_that_is_none_is_refused_in_one_sentence(visitor: Visitor) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/")
    page.locator("#file").set_input_files({"name": "a.exe", "mimeType": "text/plain", "buffer": b"MZ"})
    expect(page.locator("#uploads .error")).to_contain_text("documents of this kind are not translated.")
    page.locator("#file").set_input_files({"name": "a.docx", "mimeType": "text/plain", "buffer": b"not a DOCX"})
    expect(page.locator("#uploads .error").first).to_contain_text("a.docx", timeout=SECONDS)
    assert page.locator("#uploads progress").count() == 0


# ---- Models ----


def test_models_a_card_is_opened_in_its_frame(visitor: Visitor) -> None:
    page = visitor.open("/models")
    model = page.get_by_role("article", name="tatoeba")
    assert "47.2" in model.locator(".scores").inner_text()
    assert "English → Spanish" in model.locator(".directions").inner_text()
    model.get_by_text("Model card").focus()
    page.keyboard.press("Enter")
    frame = frame_of(page, ".card-frame")
    assert frame.locator("h1").count() == 1
    assert page.locator(".card-frame iframe").bounding_box()["height"] >= frame.evaluate("document.body.scrollHeight") - 1
    assert faults_in(frame) == []
    model.get_by_role("link", name="English → Hindi").click()
    page.wait_for_selector("body.translate[data-ready]")
    assert page.locator("#target-language").input_value() == "hi"


def test_models_script_in_a_card_or_a_name_is_never_run(visitor: Visitor) -> None:
    page = visitor.open("/models", is_ready=False)
    record = {"name": BAD, "title": BAD, "directions": [{"source": "en", "target": BAD}], "is_loaded": False, "can_explain": True}
    record |= {"scores": [{"source": BAD, "target": "es", "bleu": 1, "chrf": None, "test": BAD, "signature": BAD}], "has_film": True, "licence": BAD}
    page.route("**/v1/models", lambda route: route.fulfill(json={"models": [record]}))
    page.route("**/v1/models/*", lambda route: route.fulfill(json={**record, "card": BAD, "card_html": f"<h1>{BAD}</h1>"}))
    page.reload()
    assert page.locator("h2").inner_text() == BAD
    visitor.are_errors_expected = True
    page.get_by_text("Model card").click()
    frame = frame_of(page, ".card-frame")
    assert frame.locator("h1").count() == 1
    assert [one.evaluate("window.hacked ?? null") for one in page.frames] == [None, None]
    # the policy has stopped the image and its handler, which is reported here and nowhere else
    assert all("Content Security Policy" in text or text.startswith("policy:") for text in visitor.complaints)
    visitor.complaints.clear()


# ---- all pages ----


@pytest.mark.parametrize("path", page_files.PAGES)
@pytest.mark.parametrize(("width", "scheme", "language"), [(360, "dark", "hi"), (1280, "light", "es"), (390, "light", "en")])
def test_pages_fit_the_screen_and_axe_finds_no_serious_faults(
    visitor: Visitor, path: str, width: int, scheme: str, language: str
) -> None:
    page = visitor.open(path, viewport={"width": width, "height": 740}, color_scheme=scheme, locale=language)
    assert page.evaluate("document.documentElement.lang") == language
    if path == "/":
        page.locator("#source").fill("The black dog runs through a verylongwordwithoutanyspacesthatdoesnotfitonaphone.")
        page.wait_for_selector("#output .word", timeout=SECONDS)
    if path == "/exercises":
        frame_of(page, "#sheet")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == {"dark": "rgb(20, 23, 28)", "light": "rgb(255, 255, 255)"}[scheme]
    assert faults_in(page) == []


def test_the_language_is_switched_and_remembered(visitor: Visitor) -> None:
    page = visitor.open(f"/#text={SENTENCE}")
    page.get_by_label("Language of this site").select_option("es")
    expect(page.get_by_label("Texto que se va a traducir")).to_have_value(SENTENCE)  # and what was typed is still there
    expect(page.locator("#output")).to_have_text("El perro negro corre.", timeout=SECONDS)
    assert page.locator("#target-language option:checked").inner_text() == "Español"
    page.get_by_role("link", name="Modelos").click()
    assert page.locator("h1").inner_text() == "Modelos de este servidor"
    assert page.title() == "Modelos · clearhead"


@pytest.mark.parametrize("path", page_files.PAGES)
def test_pages_have_no_text_that_is_not_in_the_catalogue(
    visitor: Visitor, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every text is replaced by its key in brackets; then all that can be read is in brackets, or comes from the API."""
    values = {key: f"⟦{key}{''.join(re.findall(r'{.*?}', text))}⟧" for key, text in ENGLISH.items()}
    monkeypatch.setattr(page_files, "catalogue_of", lambda language: values)
    made = page_files.make_page(page_files.PAGES[path], "en")
    page = visitor.open("/models", is_ready=False)
    body, headers = made.content.decode(), {"Content-Type": "text/html; charset=utf-8", **made.headers}
    page.route(visitor.base + path, lambda route: route.fulfill(body=body, headers=headers))
    page.goto("about:blank")
    page.goto(visitor.base + path)
    page.wait_for_selector("body[data-ready]")
    found = page.evaluate(
        """() => {
          const read = [];
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const node = walker.currentNode;
            const element = node.nodeType === 3 ? node.parentElement : node;
            if (element.closest("body [lang], script, noscript, .matrix, #kind, #format, #example, #sample")) continue;
            if (node.nodeType === 3) read.push(node.data);
            else for (const name of ["aria-label", "title", "placeholder", "alt"]) read.push(node.getAttribute(name) ?? "");
          }
          return read.map((text) => text.trim()).filter((text) => /\\p{L}/u.test(text));
        }"""
    )
    data = {"clearhead", "English", "Spanish", "Hindi", "Bangla", "BLEU", "chrF", "tatoeba"}
    others = {text for text in found if not re.fullmatch(r"⟦.*⟧", text)}
    arrows = {text for text in others if re.fullmatch(r"\w+ → \w+", text)}
    fields = {text for text in others if path == "/exercises" and re.fullmatch(r"\w+", text)}  # names of a problem's keys
    assert others - arrows - fields <= data
    assert len(found) > 10

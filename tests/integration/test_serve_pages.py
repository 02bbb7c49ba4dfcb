"""The web pages in a real browser, before a real server with the built-in model: Translate and Models, and all pages on
phones, in dark mode and in every language, with axe, and with script in texts, which runs nowhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from clearhead.serve import page_files
from clearhead.serve.api_keys import KeyFile
from tests.integration.browser import IN_BROWSER
from tests.integration.served_pages import BAD, SECONDS, SENTENCE, Visitor, faults_in, focused, frame_of, tab_to
from tests.unit.serve.small_app import listening

pytestmark = IN_BROWSER
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
ENGLISH = page_files.catalogue_of("en")


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
    page.get_by_text("negro", exact=True).hover()
    assert lit(page) == (["black"], ["negro"])
    page.get_by_text("perro", exact=True).focus()
    assert lit(page) == (["dog"], ["perro"])
    assert page.get_by_text("perro", exact=True).get_attribute("aria-description") == "aligned with dog"
    word = page.locator("#mirror span").nth(1).bounding_box()
    # the pointer is over the text area, which lies above the mirror
    page.mouse.move(word["x"] + word["width"] / 2, word["y"] + word["height"] / 2)
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


def test_translate_copy_swap_detect_clear_and_a_link_that_can_be_shared(visitor: Visitor) -> None:
    page = visitor.open("/")
    translate(page, SENTENCE, "El perro negro corre.")
    page.get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == "El perro negro corre."
    expect(page.locator("#copy")).to_have_text("Copied")
    page.get_by_role("button", name="Swap languages").click()
    assert page.get_by_label("Text to translate").input_value() == "El perro negro corre."
    expect(page.locator("#output")).to_have_text("The black dog runs.", timeout=SECONDS)
    assert page.locator("#source-language").input_value() == "es"
    assert page.locator("#target-language").input_value() == "en"
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
    page.get_by_text("negro", exact=True).hover()
    page.locator("#why").click()
    frame = frame_of(page, "#result")
    assert page.get_by_label("Sentence", exact=True).input_value() == SENTENCE
    assert frame.locator("h1").inner_text() == "El perro negro corre."


def test_translate_a_text_in_the_target_language_is_translated_into_another_one(visitor: Visitor) -> None:
    page = visitor.open("/#source=auto&target=es&text=El perro negro corre.")
    expect(page.locator("#output")).to_have_text("The black dog runs.", timeout=SECONDS)
    assert page.locator("#source-language option:checked").inner_text() == "Detected: Spanish"
    assert page.locator("#notes").inner_text() == "The text is in Spanish, so it is translated into English."
    translate(page, SENTENCE, "El perro negro corre.")
    assert page.locator("#target-language").input_value() == "es"


def test_translate_what_was_typed_is_there_after_a_reload_and_after_back(visitor: Visitor) -> None:
    page = visitor.open("/#source=en&target=es&text=It is late.")
    page.get_by_label("Text to translate").fill(SENTENCE)
    page.reload()  # at once, before anything is translated
    assert page.get_by_label("Text to translate").input_value() == SENTENCE
    expect(page.locator("#output")).to_have_text("El perro negro corre.", timeout=SECONDS)
    page.get_by_role("link", name="Models").click()
    page.wait_for_selector("body.models")
    page.go_back()
    assert page.get_by_label("Text to translate").input_value() == SENTENCE
    page.evaluate("location.hash = '#source=en&target=es&text=It is late.'")
    expect(page.locator("#output")).to_have_text("Es tarde.", timeout=SECONDS)


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
        one = {
            "translation": f"{BAD} fin",
            "source_words": [BAD],
            "target_words": words,
            "alignment": "0-0",
            "notes": [BAD],
        }
        route.fulfill(json={"source": "en", "target": "es", "translations": [one]})

    page.route("**/v1/translate", answer)
    page.get_by_label("Text to translate").fill(BAD)
    expect(page.locator("#output")).to_have_text(f"{BAD} fin")
    assert page.locator("#notes").inner_text() == BAD
    assert page.evaluate("window.hacked ?? null") is None
    assert page.locator("#output img, #output script, #notes img").count() == 0


def test_translate_an_error_of_the_server_is_shown_as_its_sentence(visitor: Visitor) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/")
    page.route("**/v1/translate", lambda route: route.fulfill(status=400, json={"error": f"bad <b>{BAD}</b>"}))
    page.get_by_label("Text to translate").fill(SENTENCE)
    expect(page.locator("#error")).to_have_text(f"bad <b>{BAD}</b>")
    page.unroute("**/v1/translate")
    page.route("**/v1/translate", lambda route: route.abort())
    page.get_by_label("Text to translate").fill(f"{SENTENCE} ")
    expect(page.locator("#error")).to_have_text(f"{ENGLISH['error.network']} {ENGLISH['error.again']}")
    page.unroute("**/v1/translate")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#output")).to_have_text("El perro negro corre.", timeout=SECONDS)
    assert page.locator("#error").inner_text() == ""
    page.route("**/v1/translate", lambda route: route.fulfill(status=401, json={"error": "an API key is required."}))
    page.get_by_label("Text to translate").fill("It is late.")
    expect(page.get_by_label("API key")).to_be_visible()
    page.unroute("**/v1/translate")
    with page.expect_request("**/v1/translate") as sent:
        page.get_by_label("API key").fill("secret")
        page.keyboard.press("Enter")
    assert sent.value.headers["authorization"] == "Bearer secret"
    expect(page.locator("#output")).to_have_text("Es tarde.", timeout=SECONDS)


def test_translate_a_document_is_uploaded_and_downloaded(visitor: Visitor) -> None:
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
    expect(page.locator("#uploads .error")).to_contain_text("file format not supported. Extensions: .txt, .md")
    page.locator("#file").set_input_files({"name": "a.docx", "mimeType": "text/plain", "buffer": b"not a DOCX"})
    expect(page.locator("#uploads .error").first).to_contain_text("a.docx", timeout=SECONDS)
    assert page.locator("#uploads progress").count() == 0


def test_translate_a_busy_server_is_asked_again_after_the_time_that_it_states(visitor: Visitor) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/")
    answers: list[int] = []

    def answer(route: Any) -> None:
        answers.append(1)
        if len(answers) > 1:
            route.continue_()
        else:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "the queue is full."})

    page.route("**/v1/translate", answer)
    translate(page, "It is late.", "Es tarde.")
    assert page.locator("#error").inner_text() == ""
    assert len(answers) == 2


def test_translate_a_long_text_is_sent_in_parts_and_the_mirror_lies_below_its_words(visitor: Visitor) -> None:
    page = visitor.open("/")
    sizes: list[int] = []

    def answer(route: Any) -> None:
        texts = route.request.post_data_json["text"]
        sizes.append(len(texts))
        records = [{"translation": text, "source_words": text.split(), "alignment": "0-0"} for text in texts]
        route.fulfill(json={"source": "en", "target": "es", "translations": records})

    page.route("**/v1/translate", answer)
    whole = " ".join(f"Sentence {n} of a long text." for n in range(230)) + "\n\nThe end."
    translate(page, whole, whole)
    assert sizes == [100, 100, 31]
    assert page.locator("#output .word").count() == 230 * 6 + 2
    heights = page.evaluate("['mirror', 'source'].map((id) => document.getElementById(id).scrollHeight)")
    assert abs(heights[0] - heights[1]) <= 1
    last = page.locator("#mirror span").last
    last.scroll_into_view_if_needed()
    place = last.bounding_box()
    page.mouse.click(place["x"] + 3, place["y"] + place["height"] / 2)
    caret = page.evaluate("document.getElementById('source').selectionStart")
    assert whole[caret - 1 : caret + 4].strip().startswith("end") or whole[caret:].startswith("end")


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
    height = page.locator(".card-frame iframe").bounding_box()["height"]
    assert height >= frame.evaluate("document.body.scrollHeight") - 1  # all of the card is seen
    assert faults_in(frame) == []
    model.get_by_role("link", name="English → Hindi").click()
    page.wait_for_selector("body.translate[data-ready]")
    assert page.locator("#target-language").input_value() == "hi"


def test_models_script_in_a_card_or_a_name_is_never_run(visitor: Visitor) -> None:
    page = visitor.open("/models", is_ready=False)
    record = {
        "name": BAD,
        "title": BAD,
        "directions": [{"source": "en", "target": BAD}],
        "is_loaded": False,
        "can_explain": True,
    }
    record |= {
        "scores": [{"source": BAD, "target": "es", "bleu": 1, "chrf": None, "test": BAD, "signature": BAD}],
        "licence": BAD,
    }
    page.route("**/v1/models", lambda route: route.fulfill(json={"models": [record]}))
    page.route(
        "**/v1/models/*", lambda route: route.fulfill(json={**record, "card": BAD, "card_html": f"<h1>{BAD}</h1>"})
    )
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
def test_a_page_of_a_server_that_requires_keys_asks_for_one_and_then_works(
    browser: Any, tmp_path: Path, path: str
) -> None:
    key = KeyFile(tmp_path / "keys").add("a")
    with listening({"keys": {"file": str(tmp_path / "keys"), "is_required": True}}) as address:
        visitor = Visitor(browser, address)
        visitor.are_errors_expected = True
        page = visitor.open(path)
        error = page.get_by_text(ENGLISH["error.key"])
        expect(error).to_be_visible()
        page.get_by_label("API key").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Invalid API key")).to_be_visible()
        page.get_by_label("API key").fill(key)
        page.keyboard.press("Enter")
        ready = {"/": "#target-language option", "/why": "#direction option", "/models": "#list article"}
        page.wait_for_selector(ready.get(path, "#kind option"), state="attached", timeout=SECONDS)
        expect(page.get_by_label("API key")).to_be_hidden()
        expect(page.get_by_text("Invalid API key")).to_be_hidden()
        for context in visitor.contexts:
            context.close()
    assert visitor.complaints == []
    assert visitor.elsewhere == []


@pytest.mark.parametrize("path", page_files.PAGES)
@pytest.mark.parametrize(
    ("width", "scheme", "language"), [(360, "dark", "hi"), (1280, "light", "es"), (390, "light", "en")]
)
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
    data = {"clearhead", "English", "Spanish", "Hindi", "Bengali", "BLEU", "chrF", "tatoeba"}
    others = {text for text in found if not re.fullmatch(r"⟦.*⟧", text)}
    arrows = {text for text in others if re.fullmatch(r"\w+ → \w+", text)}
    names = {text for text in others if path == "/exercises" and re.fullmatch(r"\w+", text)}  # of a problem's keys
    assert others - arrows - names <= data
    assert len(found) > 10

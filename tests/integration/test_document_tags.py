"""Where the tags of a sentence land when the built-in model translates it; docs/guide/documents.md states the counts."""

import re

from clearhead.decoding.annotation import SentenceAligner
from clearhead.decoding.translator import Translator
from clearhead.documents import translate_html_fragment
from clearhead.formats.built_in import built_in_for
from clearhead.formats.model_folder import built_in_folder

# A sentence, and the words that a person would mark in the model's own translation, in the order of the translation.
SENTENCES = {
    "The <b>old man</b> bought a new house.": ["anciano"],
    "I will <i>never</i> forget your kindness.": ["Nunca"],
    "She gave me <a>a very interesting book</a> yesterday.": ["un libro muy interesante"],
    "<b>Please close</b> the window.": ["Cierra … por favor"],  # apart: one tag cannot mark it
    "My brother works in <u>a big hospital</u> in the city.": ["un gran hospital"],
    "They <b>don't</b> want to eat fish.": ["no"],
    "What is the <i>name</i> of your <b>dog</b>?": ["llama", "perro"],
    "He has been living in <b>Japan</b> for <i>three years</i>.": ["tres años", "Japón"],
    "I don't know <b>what to do</b>.": ["qué hacer"],
    "The train arrives at <b>seven o'clock</b> in the morning.": ["las siete"],
    "This <a>blue car</a> is more expensive than that <b>red one</b>.": ["coche azul", "rojo"],
    "You must <b>not</b> open the door.": ["No"],
    "If it rains tomorrow, <i>we will stay at home</i>.": ["nos quedaremos en casa"],
    "I have <b>two cats</b> and <i>one dog</i>.": ["dos gatos", "un perro"],
    "Tom <b>was reading</b> a newspaper when I came in.": ["estaba leyendo"],
    "My mother makes <i>the best</i> bread in the world.": ["el mejor"],
    "Can you tell me <a>where the station is</a>?": ["dónde está la estación"],
    "We need <b>more time</b> to finish the work.": ["más tiempo"],
    "<b>Nobody</b> knows the answer.": ["Nadie"],
    "He speaks <i>English</i> and <b>French</b> very well.": ["inglés", "francés"],
    "The <b>white</b> house on the <i>hill</i> belongs to my uncle.": ["blanca", "colina"],
    "It is <b>too cold</b> to swim.": ["demasiado frío"],
    "The children are playing <i>in the garden</i>.": ["en el jardín"],
    "I am looking for <b>my keys</b>.": ["mis llaves"],
    "Do you like <b>black coffee</b>?": ["el café negro"],
}


def test_most_tags_land_on_the_words_that_a_person_would_mark() -> None:
    folder = built_in_folder(built_in_for("en", "es"))
    translate = SentenceAligner(Translator.load(folder, engine="numpy"), folder)
    num_right = num_tags = 0
    for sentence, expected in SENTENCES.items():
        marked = re.findall(r"<(?:a|b|i|u)>([^<]*)</", translate_html_fragment(sentence, translate))
        assert len(marked) == len(expected)
        num_right += sum(one == other for one, other in zip(marked, expected, strict=True))
        num_tags += len(marked)
    assert num_tags == 31
    assert num_right >= 27

"""The phrasebook is right in both languages, and held-out combinations never occur in training."""

import re
from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import islice

import pytest

from clearhead.data.phrasebook import SIZES, Split, pairs, set_phrases
from clearhead.data.phrasebook.actions import taking
from clearhead.data.phrasebook.clauses import Clause
from clearhead.data.phrasebook.idioms import CLAUSES, SAYINGS, SET_PHRASES
from clearhead.data.phrasebook.patterns import PATTERNS
from clearhead.data.phrasebook.phrases import PRONOUNS, Draw
from clearhead.data.phrasebook.sentences import PhrasePair, capital
from clearhead.data.phrasebook.splits import MAX_WORDS, sentences, split_of, split_of_pair
from clearhead.data.phrasebook.verbs import BY_NAME, DOING, GIVE, GO, PLAY, REFLEXIVE, TAKING
from clearhead.data.phrasebook.words import ADJECTIVES, NOUNS
from clearhead.errors import DataError

SPLITS: tuple[Split, ...] = ("train", "valid", "test")
OTHER_SEEDS = (2,)


@cache
def part(split: Split) -> list[PhrasePair]:
    return list(sentences(split))


@cache
def spanish_of() -> dict[str, str]:
    """The complete corpus."""
    return {sentence.english: sentence.spanish for split in SPLITS for sentence in part(split)}


@cache
def known() -> dict[str, str]:
    """The corpus with the sentences that other seeds draw: the golden pairs are looked up in it."""
    return {english: spanish for seed in OTHER_SEEDS for english, spanish in pairs("train", seed)} | spanish_of()


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+|[^\w\s]", text)


# The Spanish of each was read and checked by hand, one feature of the grammar after another.
GOLDEN = [
    # agreement, adjectives after the noun, the few before it
    ("The boy's chair is broken.", "La silla del niño está rota."),
    ("What young women!", "¡Qué mujeres más jóvenes!"),
    ("It's a good book.", "Es un buen libro."),
    ("It's a good song.", "Es una buena canción."),
    ("The exams are easy.", "Los exámenes son fáciles."),
    ("How much do the pencils cost?", "¿Cuánto cuestan los lápices?"),
    ("How cold my milk is!", "¡Qué fría está mi leche!"),
    ("I like cold water.", "Me gusta el agua fría."),
    # persons and tenses, regular and not
    ("I speak English.", "Hablo inglés."),
    ("We live in this house.", "Vivimos en esta casa."),
    ("They find a shoe.", "Encuentran un zapato."),
    ("I want the dog.", "Quiero el perro."),
    ("I made coffee.", "Hice café."),
    ("I played football.", "Jugué al fútbol."),
    ("You're sleeping.", "Estás durmiendo."),
    ("We're going to buy the fish.", "Vamos a comprar el pescado."),
    ("We cannot sleep.", "No podemos dormir."),
    ("She has to study.", "Tiene que estudiar."),
    # not
    ("They do not want any maps.", "No quieren mapas."),
    ("He doesn't help her.", "No la ayuda."),
    ("I never dance.", "Nunca bailo."),
    # questions
    ("Are the shops open?", "¿Están abiertas las tiendas?"),
    ("Where is Ana going?", "¿Adónde va Ana?"),
    ("Who are you waiting for?", "¿A quién estás esperando?"),
    ("How many eggs do we need?", "¿Cuántos huevos necesitamos?"),
    ("Whose key is this?", "¿De quién es esta llave?"),
    ("Why is Ana sad?", "¿Por qué está triste Ana?"),
    ("How much do the shoes cost?", "¿Cuánto cuestan los zapatos?"),
    # al, del, e, u
    ("I go to the park.", "Voy al parque."),
    ("Let's go to the park.", "Vamos al parque."),
    ("Luis and Ines are sleepy.", "Luis e Inés tienen sueño."),
    ("Do you want seven or eight keys?", "¿Quieres siete u ocho llaves?"),
    # ser, estar, tener, hacer, haber
    ("She is a doctor.", "Es médica."),
    ("Carlos is a young doctor.", "Carlos es un médico joven."),
    ("She's ill.", "Está enferma."),
    ("I am hungry.", "Tengo hambre."),
    ("I am ten years old.", "Tengo diez años."),
    ("I'm in a hurry.", "Tengo prisa."),
    ("It isn't cold.", "No hace frío."),
    ("There is a key in the box.", "Hay una llave en la caja."),
    ("The map is under the table.", "El mapa está debajo de la mesa."),
    # gustar and doler
    ("I like apples.", "Me gustan las manzanas."),
    ("She likes milk.", "Le gusta la leche."),
    ("We like to read.", "Nos gusta leer."),
    ("My eyes hurt.", "Me duelen los ojos."),
    # pronouns, the personal a, reflexives
    ("He sees me.", "Me ve."),
    ("She's going to help me.", "Me va a ayudar."),
    ("I buy the egg and eat it.", "Compro el huevo y lo como."),
    ("He gave the box to Ana.", "Le dio la caja a Ana."),
    ("We are waiting for the buses.", "Estamos esperando los autobuses."),
    ("She can look for a doctor.", "Puede buscar un médico."),
    ("I get up.", "Me levanto."),
    ("Let's get dressed.", "Vamos a vestirnos."),
    ("Ana sings with me.", "Ana canta conmigo."),
    # orders, comparisons, times, two clauses
    ("Don't open the box!", "¡No abras la caja!"),
    ("Don't play tennis!", "¡No juegues al tenis!"),
    ("Make tea!", "¡Haz té!"),
    ("The woman is taller than Ana.", "La mujer es más alta que Ana."),
    ("The man is as tall as Ana.", "El hombre es tan alto como Ana."),
    ("It's half past one.", "Es la una y media."),
    ("The boy's coffee is hot.", "El café del niño está caliente."),
    ("He worked, but he did not eat.", "Trabajó, pero no comió."),
    ("We can't work because we are sad.", "No podemos trabajar porque estamos tristes."),
    # not word for word
    ("Let's go", "Vamos"),
    ("Let's go.", "Vamos."),
    ("Let's go!", "¡Vamos!"),
    ("Good morning", "Buenos días"),
    ("Good morning.", "Buenos días."),
    ("Thank you!", "¡Gracias!"),
    ("How are you", "Cómo estás"),
    ("Hello, Ana!", "¡Hola, Ana!"),
    ("It's a piece of cake.", "Es pan comido."),
    ("She says that it's a piece of cake.", "Dice que es pan comido."),
    ("It's raining cats and dogs.", "Está lloviendo a cántaros."),
    ("I sleep like a log.", "Duermo como un tronco."),
    ("Better late than never.", "Más vale tarde que nunca."),
]


def test_sentences_read_as_a_teacher_wrote_them() -> None:
    drawn = {english: known()[english] for english, _ in GOLDEN if english in known()}
    assert drawn == {english: spanish for english, spanish in GOLDEN if english in drawn}
    assert len(drawn) >= 60  # which of them a seed draws changes with any change of the grammar


def test_people_take_the_personal_a_and_things_do_not() -> None:
    draw, see = Draw("personal a"), BY_NAME["see"]
    clauses = [Clause(PRONOUNS[0], taking(draw, see), "present") for _ in range(5_000)]
    english_sentences = {clause.english(): clause.spanish() for clause in clauses}
    assert english_sentences["I see the teacher"] == "veo a la profesora"
    assert english_sentences["I see the doctor"] == "veo al médico"
    assert english_sentences["I see my mother"] == "veo a mi madre"
    assert english_sentences["I see Luis"] == "veo a Luis"
    assert english_sentences["I see the dog"] == "veo al perro"
    assert english_sentences["I see a dog"] == "veo un perro"
    assert english_sentences["I see the car"] == "veo el coche"


def test_verbs_are_conjugated_as_in_a_grammar() -> None:
    table = {verb.infinitive: verb for verb in (*TAKING, *DOING, *REFLEXIVE, GO, GIVE, PLAY)}
    present = {
        "comer": "como comes come comemos comen",
        "escribir": "escribo escribes escribe escribimos escriben",
        "buscar": "busco buscas busca buscamos buscan",
        "ver": "veo ves ve vemos ven",
        "dormir": "duermo duermes duerme dormimos duermen",
        "jugar": "juego juegas juega jugamos juegan",
        "despertar": "despierto despiertas despierta despertamos despiertan",
    }
    past = {
        "comer": "comí comiste comió comimos comieron",
        "buscar": "busqué buscaste buscó buscamos buscaron",
        "jugar": "jugué jugaste jugó jugamos jugaron",
        "leer": "leí leíste leyó leímos leyeron",
        "traer": "traje trajiste trajo trajimos trajeron",
        "ir": "fui fuiste fue fuimos fueron",
        "dar": "di diste dio dimos dieron",
        "vestir": "vestí vestiste vistió vestimos vistieron",
    }
    orders = {"buscar": "busques", "cerrar": "cierres", "traer": "traigas", "jugar": "juegues", "abrir": "abras"}
    assert {name: " ".join(table[name].present) for name in present} == present
    assert {name: " ".join(table[name].preterite) for name in past} == past
    assert {name: table[name].forbidden for name in orders} == orders
    assert [table[name].gerund for name in ("leer", "dormir", "traer", "ver")] == ["leyendo", "durmiendo", "trayendo", "viendo"]  # fmt: skip


def test_plurals_gain_and_lose_their_accents() -> None:
    plurals = {noun.spanish: noun.spanish_plural for noun in NOUNS}
    wanted = {"canción": "canciones", "jardín": "jardines", "autobús": "autobuses", "examen": "exámenes", "lápiz": "lápices", "ciudad": "ciudades", "café": "café", "tren": "trenes"}  # fmt: skip
    assert {noun: plurals[noun] for noun in wanted} == wanted
    forms = {adjective.english: " ".join(adjective.forms) for adjective in ADJECTIVES}
    assert forms["young"] == "joven joven jóvenes jóvenes"
    assert forms["English"] == "inglés inglesa ingleses inglesas"
    assert forms["difficult"] == "difícil difícil difíciles difíciles"
    assert forms["red"] == "rojo roja rojos rojas"


def test_every_tag_of_a_verb_or_an_adjective_belongs_to_a_noun() -> None:
    tags = {tag for noun in NOUNS for tag in noun.tags}
    named = {tag for verb in TAKING for tag in verb.objects.split()} | {
        tag for adjective in ADJECTIVES for tag in adjective.fitting.split()
    }
    assert named <= tags


@pytest.mark.parametrize("split", SPLITS)
def test_a_part_has_its_size_and_no_sentence_twice(split: Split) -> None:
    english = [sentence.english for sentence in part(split)]
    assert len(english) == len(set(english)) == SIZES[split] == {"train": 50_000, "valid": 1_000, "test": 1_000}[split]


def test_one_english_sentence_has_one_spanish_translation_for_every_seed() -> None:
    for seed in OTHER_SEEDS:
        for english, spanish in pairs("train", seed):
            assert known()[english] == spanish


def test_sentences_are_short_and_punctuated_alike() -> None:
    learnt_by_heart = dict(set_phrases())  # these alone may be one word: Hello!
    for english, spanish in spanish_of().items():
        assert (1 if english in learnt_by_heart else 2) <= len(english.split()) <= MAX_WORDS
        assert 1 <= len(spanish.split()) <= MAX_WORDS
        end = english[-1] if english[-1] in ".!?" else ""
        begin = {"?": "¿", "!": "¡"}.get(end, "")
        assert spanish.startswith(begin)
        assert spanish.endswith(end or tuple("abcdefghijklmnopqrstuvwxyzáéíóú"))
        assert spanish[len(begin)].isupper()
        assert english[0].isupper()
        assert "  " not in english + spanish


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_held_out_sentence_combines_two_words_that_training_never_combines(split: Split) -> None:
    trained = {pair for sentence in part("train") for pair in sentence.pairs}
    for sentence in part(split):
        kept_back = [pair for pair in sentence.pairs if split_of_pair(pair) == split]
        assert kept_back, sentence
        assert trained.isdisjoint(kept_back)


def test_no_sentence_is_in_two_parts() -> None:
    english = {split: {sentence.english for sentence in part(split)} for split in SPLITS}
    assert english["train"].isdisjoint(english["valid"] | english["test"])
    assert english["valid"].isdisjoint(english["test"])


def test_held_out_combinations_of_one_seed_are_not_trained_on_with_another_seed() -> None:
    held_out = {sentence.english for split in ("valid", "test") for sentence in part(split)}
    assert held_out.isdisjoint(english for english, _ in pairs("train", seed=5))


@pytest.mark.parametrize("side", ["english", "spanish"])
def test_every_held_out_word_is_known_from_training(side: str) -> None:
    taught = {word for sentence in part("train") for word in words(getattr(sentence, side))}
    for split in ("valid", "test"):
        assert {word for sentence in part(split) for word in words(getattr(sentence, side))} <= taught


def test_every_pattern_generates_training_sentences() -> None:
    for pattern in PATTERNS:
        draw = Draw(pattern.__name__)
        parts = [split_of(pattern(draw)) for _ in range(200)]
        assert parts.count("train") > 100, pattern.__name__


def test_the_words_of_the_grammar_occur_often() -> None:
    counts = Counter(word.lower() for sentence in part("train") for word in words(sentence.spanish))
    held_out = {
        word.lower() for split in ("valid", "test") for sentence in part(split) for word in words(sentence.spanish)
    }
    rare = {word for word in held_out if counts[word] < 3}
    assert not rare


def test_idioms_occur_alone_with_and_without_a_full_stop_and_inside_sentences() -> None:
    train = {sentence.english: sentence.spanish for sentence in part("train")}
    for idiom, expression in (*CLAUSES.items(), *SAYINGS.items()):
        assert train[capital(idiom)] == capital(expression)
        assert train[capital(idiom) + "."] == capital(expression) + "."
        assert train[capital(idiom) + "!"] == f"¡{capital(expression)}!"
        inside = [english for english in train if idiom.lower() in english.lower()]
        assert len(inside) > 20, idiom
    assert 15 <= len(CLAUSES) + len(SAYINGS) <= 30


def test_a_set_phrase_is_in_training_in_every_common_spelling() -> None:
    train = {sentence.english: sentence.spanish for sentence in part("train")}
    for english, spanish in SET_PHRASES.items():
        bare, plain = english[:-1], spanish.strip("¡!¿?.")
        ways = {bare: plain, english: spanish}
        if english[-1] != "?":
            ways |= {f"{bare}.": f"{plain}.", f"{bare}!": f"¡{plain}!"}
        assert {way: train[way] for way in ways} == ways


def test_the_set_phrases_alone_are_those_of_the_training_part() -> None:
    train = {sentence.english: sentence.spanish for sentence in part("train")}
    alone = list(set_phrases())
    assert len(dict(alone)) == len(alone) > 200
    assert {english: train[english] for english, _ in alone} == dict(alone)


def test_the_set_phrases_have_no_part_to_hold_out() -> None:
    with pytest.raises(DataError) as refused:
        set_phrases("valid")
    assert str(refused.value) == (
        "The set phrases have no part 'valid': they are learnt by heart, so that all of them are for training. "
        "Hold out a part of the phrasebook: built_in: phrasebook."
    )


def test_the_vocabulary_is_moderate() -> None:
    taught = {word.lower() for sentence in part("train") for word in words(sentence.english)}
    assert 400 < len(taught) < 600


def test_the_corpus_is_the_same_everywhere() -> None:
    digests = {}
    for split in SPLITS:
        lines = "".join(f"{english}\t{spanish}\n" for english, spanish in pairs(split))
        digests[split] = sha256(lines.encode()).hexdigest()[:16]
    assert digests == {"train": "c06c92c966b9d399", "valid": "5256d04683b21869", "test": "284c63da8e1e1f04"}


def test_another_seed_draws_other_sentences() -> None:
    first, second = (set(islice(pairs("train", seed), 2_000)) for seed in (1, 2))
    assert len(first & second) < 1_000


def test_an_unknown_part_is_refused_with_the_choices() -> None:
    with pytest.raises(DataError) as refused:
        pairs("trian")  # type: ignore[arg-type]
    assert (
        str(refused.value) == "The phrasebook has no part 'trian'. Did you mean 'train'? Choices: train, valid, test."
    )

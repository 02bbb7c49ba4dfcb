"""The nouns and adjectives of the phrasebook, with their plurals and genders.

A noun's tags, and its English name, decide which verbs and adjectives it can be used with.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

Gender = Literal["m", "f"]

_VOWELS = "aeiouáéíóú"
_UNACCENTED = str.maketrans("áéíóú", "aeiou")

# english(/plural) spanish(/plural) gender tags. A mass noun has no plural. If the English noun has no
# gender, the table decides it: the teacher is la profesora, the doctor is el médico.
_NOUNS = """
man/men        hombre           m  person grown
woman/women    mujer            f  person grown
boy            niño             m  person little
girl           niña             f  person little
friend         amigo            m  person mine
teacher        profesora        f  person own grown
doctor         médico           m  person own grown
neighbour      vecina           f  person own grown
mother         madre            f  family single
father         padre            m  family single
brother        hermano          m  family
sister         hermana          f  family
daughter       hija             f  family
grandmother    abuela           f  family single
dog            perro            m  animal little
cat            gato             m  animal little
horse          caballo          m  animal
apple          manzana          f  food sized little washed
egg            huevo            m  food
cake           tarta            f  food sized tasty
soup           sopa             f  food mass tasty served
bread          pan              m  food mass tasty
fish           pescado          m  food mass tasty
cheese         queso            m  food mass tasty
water          agua             f  drink mass served
milk           leche            f  drink mass served
coffee         café             m  drink mass served
tea            té               m  drink mass served
juice          zumo             m  drink mass
book           libro            m  reading thing made
letter         carta            f  reading
problem        problema         m  task
exam           examen/exámenes  m  task
song           canción          f  art
photo          foto             f  art thing
key            llave            f  thing
pencil         lápiz            m  thing coloured
map            mapa             m  thing made
bag            bolsa            f  thing coloured holder made sized
box            caja             f  thing coloured holder opened sized
phone          teléfono         m  thing coloured broken made
glass          vaso             m  thing holder broken washed sized
table          mesa             f  furniture coloured made sized washed
chair          silla            f  furniture coloured made broken
door           puerta           f  coloured opened made
window         ventana          f  opened broken washed sized
shirt          camisa           f  clothes coloured made washed
shoe           zapato           m  clothes coloured made
dress          vestido          m  clothes coloured made washed
car            coche            m  vehicle coloured made sized washed
train          tren             m  ride made
bus            autobús          m  ride made
house          casa             f  place building coloured in
school         escuela          f  place building at
park           parque           m  place in opened
shop           tienda           f  place building opened in
beach          playa            f  place on
hospital       hospital         m  place building at
station        estación         f  place building at
city           ciudad           f  place in
museum         museo            m  place building opened in
garden         jardín           m  place in
kitchen        cocina           f  place in
hotel          hotel            m  place building at opened
"""

# english spanish(/feminine/masculine plural/feminine plural) copula, then the tags or nouns that the adjective fits.
_ADJECTIVES = """
red          rojo         ser    coloured apple
white        blanco       ser    coloured animal
black        negro        ser    coloured animal
blue         azul         ser    coloured
green        verde        ser    coloured apple
big          grande       ser    animal sized place
small        pequeño      ser    animal sized place boy girl
long         largo        ser    letter song dress table exam
tall         alto         ser    man woman boy girl friend teacher doctor family
new          nuevo        ser    made vehicle building
old          viejo        ser    made vehicle building animal
expensive    caro         ser    made vehicle hotel house juice cheese fish
cheap        barato       ser    made vehicle hotel house juice cheese fish
pretty       bonito       ser    clothes place art bag
interesting  interesante  ser    reading task art museum city
easy         fácil        ser    task song
difficult    difícil      ser    task song
famous       famoso       ser    art book museum city beach hotel woman man doctor teacher
young        joven/joven/jóvenes/jóvenes  ser  grown
intelligent  inteligente  ser    person family dog
kind         amable       ser    person family
English      inglés/inglesa/ingleses/inglesas  ser  man woman teacher doctor book song car
Spanish      español/española/españoles/españolas  ser  man woman teacher doctor book song cheese
delicious    delicioso    estar  tasty
tired        cansado      estar  person family animal
happy        contento     estar  person family dog
sad          triste       estar  person family dog
ill          enfermo      estar  person family animal
open         abierto      estar  opened
closed       cerrado      estar  opened
clean        limpio       estar  washed place clothes
dirty        sucio        estar  washed place clothes
empty        vacío        estar  holder ride hotel museum house beach station shop
full         lleno        estar  holder ride hotel museum beach station shop
broken       roto         estar  broken
cold         frío         estar  served
hot          caliente     estar  served
good         buen/buena/buenos/buenas  -  friend teacher doctor book song cake juice coffee hotel
"""


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; a mass noun's plurals are its singulars."""

    english: str
    english_plural: str
    spanish: str
    spanish_plural: str
    gender: Gender
    kind: str  # its first tag
    tags: frozenset[str]

    @property
    def is_mass(self) -> bool:
        """Whether it is uncountable, like water."""
        return "mass" in self.tags

    def fits(self, tags: str) -> bool:
        """Return whether any of the words in `tags` is a tag of this noun, or its English name."""
        return not self.tags.isdisjoint(_words(tags))


@cache
def _words(tags: str) -> tuple[str, ...]:
    return tuple(tags.split())


@dataclass(frozen=True)
class Adjective:
    """An adjective: its four Spanish forms, and its copula, `ser` (nature) or `estar` (state).

    An adjective without a copula is only used before its noun, as in un buen libro.
    """

    english: str
    forms: tuple[str, ...]  # el, la, los, las
    copula: Literal["ser", "estar", "-"]
    fitting: str

    def agree(self, gender: Gender, is_plural: bool) -> str:
        """Return the form that agrees with a noun."""
        return self.forms[2 * is_plural + (gender == "f")]


def english_plural(word: str) -> str:
    """Return the plural by the rule: boxes, cities, boys, books."""
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def spanish_plural(word: str) -> str:
    """Return the plural by the rule: casas, ciudades, lápices, canciones (which loses its accent)."""
    if word[-1] in _VOWELS:
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    if word[-2] in "áéíóú":
        return word[:-2] + word[-2:].translate(_UNACCENTED) + "es"
    return word + "es"


def _read_noun(line: str) -> Noun:
    english, spanish, gender, *tags = line.split()
    one, _, many = english.partition("/")
    uno, _, muchos = spanish.partition("/")
    is_mass = "mass" in tags
    return Noun(
        english=one,
        english_plural=one if is_mass else many or english_plural(one),
        spanish=uno,
        spanish_plural=uno if is_mass else muchos or spanish_plural(uno),
        gender="f" if gender == "f" else "m",
        kind=tags[0],
        tags=frozenset([one, *tags]),
    )


def four_forms(masculine: str) -> tuple[str, ...]:
    """Return an adjective with el, la, los and las: rojo, roja, rojos, rojas; azul, azul, azules, azules."""
    feminine = masculine[:-1] + "a" if masculine.endswith("o") else masculine
    return masculine, feminine, spanish_adjective_plural(masculine), spanish_adjective_plural(feminine)


def spanish_adjective_plural(word: str) -> str:
    """Return the plural by the rule; unlike most nouns, fácil keeps its accent in fáciles."""
    return word + ("s" if word[-1] in _VOWELS else "es")


def _read_adjective(line: str) -> Adjective:
    english, spanish, copula, *fitting = line.split()
    forms = tuple(spanish.split("/")) if "/" in spanish else four_forms(spanish)
    kind: Literal["ser", "estar", "-"] = "ser" if copula == "ser" else "estar" if copula == "estar" else "-"
    return Adjective(english, forms, kind, " ".join(fitting))


NOUNS: tuple[Noun, ...] = tuple(_read_noun(line) for line in _NOUNS.strip().splitlines())
ADJECTIVES: tuple[Adjective, ...] = tuple(_read_adjective(line) for line in _ADJECTIVES.strip().splitlines())
FITTING: dict[str, tuple[Adjective, ...]] = {
    noun.english: tuple(adjective for adjective in ADJECTIVES if noun.fits(adjective.fitting)) for noun in NOUNS
}
PREDICATES: dict[str, tuple[Adjective, ...]] = {
    noun: tuple(adjective for adjective in adjectives if adjective.copula != "-")
    for noun, adjectives in FITTING.items()
}


@cache
def nouns(tags: str) -> tuple[Noun, ...]:
    """Return the nouns that have any of the tags, in the order of the table."""
    return tuple(noun for noun in NOUNS if noun.fits(tags))


# Professions are used for men and women: "She is a doctor" is "Es médica", without an article.
PROFESSIONS: dict[str, tuple[str, ...]] = {
    "doctor": ("médico", "médica", "médicos", "médicas"),
    "teacher": ("profesor", "profesora", "profesores", "profesoras"),
    "student": ("estudiante", "estudiante", "estudiantes", "estudiantes"),
    "engineer": ("ingeniero", "ingeniera", "ingenieros", "ingenieras"),
    "writer": ("escritor", "escritora", "escritores", "escritoras"),
}
NAMES: dict[str, tuple[str, Gender]] = {
    "Ana": ("Ana", "f"),
    "Luis": ("Luis", "m"),
    "Maria": ("María", "f"),
    "Carlos": ("Carlos", "m"),
    "Ines": ("Inés", "f"),
}
COUNTRIES = {"Spain": "España", "Mexico": "México", "England": "Inglaterra", "Peru": "Perú"}
LANGUAGES = {"Spanish": "español", "English": "inglés", "French": "francés"}
NUMBERS = {
    "two": "dos", "three": "tres", "four": "cuatro", "five": "cinco", "six": "seis", "seven": "siete", "eight": "ocho",
    "nine": "nueve", "ten": "diez", "eleven": "once", "twelve": "doce", "twenty": "veinte",
}  # fmt: skip
DAYS = {
    "Monday": "lunes", "Friday": "viernes", "Saturday": "sábado", "Sunday": "domingo",
}  # fmt: skip

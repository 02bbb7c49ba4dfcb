"""The verbs of the phrasebook: regular forms are conjugated by rule, irregular forms come from a table.

There are five persons: I, you (always tú), he or she or it, we, they.
"""

from dataclasses import dataclass, field

ME, YOU, THIRD, WE, THEY = range(5)

_ENDINGS = {
    "ar": "o as a amos an",
    "er": "o es e emos en",
    "ir": "o es e imos en",
}
_PAST_ENDINGS = {"ar": "é aste ó amos aron", "er": "í iste ió imos ieron", "ir": "í iste ió imos ieron"}
_REFLEXIVE = ("me", "te", "se", "nos", "se")
# The sound before -ar stays the same before an e: busco, busqué; llego, llegué.
_BEFORE_E = {"c": "qu", "g": "gu", "z": "c"}


@dataclass(frozen=True)
class Verb:
    """One verb: four English forms, its Spanish forms, and the tags of the nouns that it takes as an object."""

    base: str
    third: str
    past: str
    ing: str
    infinitive: str  # without the -se of a reflexive
    present: tuple[str, ...]
    preterite: tuple[str, ...]
    gerund: str  # empty for ir and venir: "she is coming" is "viene"
    imperative: str
    forbidden: str  # the form after no: no comas
    objects: str = ""
    tenses: frozenset[str] = field(default_factory=frozenset)
    takes_bare: bool = False  # "I eat apples", but not "I close doors"
    is_reflexive: bool = False

    def clitic(self, person: int) -> str:
        """Return me, te, se, nos or se with a space after it, or nothing."""
        return _REFLEXIVE[person] + " " if self.is_reflexive else ""

    def attached(self, person: int) -> str:
        """Return the infinitive with its pronoun: levantarme."""
        return self.infinitive + _REFLEXIVE[person] if self.is_reflexive else self.infinitive


@dataclass(frozen=True)
class Irregular:
    """The irregular Spanish forms; an empty form follows the rule, and a dash marks a form that is never used."""

    present: str = ""
    preterite: str = ""
    gerund: str = ""
    imperative: str = ""
    forbidden: str = ""


_IRREGULAR = {
    "acostar": Irregular("acuesto acuestas acuesta acostamos acuestan"),
    "cerrar": Irregular("cierro cierras cierra cerramos cierran"),
    "conocer": Irregular("conozco conoces conoce conocemos conocen"),
    "dar": Irregular("doy das da damos dan", "di diste dio dimos dieron", forbidden="des"),
    "decir": Irregular("digo dices dice decimos dicen", "dije dijiste dijo dijimos dijeron", "diciendo", "di"),
    "despertar": Irregular("despierto despiertas despierta despertamos despiertan"),
    "dormir": Irregular(
        "duermo duermes duerme dormimos duermen", "dormí dormiste durmió dormimos durmieron", "durmiendo"
    ),
    "encontrar": Irregular("encuentro encuentras encuentra encontramos encuentran"),
    "entender": Irregular("entiendo entiendes entiende entendemos entienden"),
    "hacer": Irregular("hago haces hace hacemos hacen", "hice hiciste hizo hicimos hicieron", imperative="haz"),
    "ir": Irregular("voy vas va vamos van", "fui fuiste fue fuimos fueron", "-", "ve", "vayas"),
    "jugar": Irregular("juego juegas juega jugamos juegan"),
    "leer": Irregular("", "leí leíste leyó leímos leyeron", "leyendo"),
    "perder": Irregular("pierdo pierdes pierde perdemos pierden"),
    "querer": Irregular("quiero quieres quiere queremos quieren"),
    "saber": Irregular("sé sabes sabe sabemos saben", forbidden="-"),
    "tener": Irregular("tengo tienes tiene tenemos tienen"),
    "traer": Irregular("traigo traes trae traemos traen", "traje trajiste trajo trajimos trajeron", "trayendo"),
    "venir": Irregular("vengo vienes viene venimos vienen", "vine viniste vino vinimos vinieron", "-", "ven"),
    "ver": Irregular("veo ves ve vemos ven", "vi viste vio vimos vieron"),
    "vestir": Irregular("visto vistes viste vestimos visten", "vestí vestiste vistió vestimos vistieron", "vistiendo"),
}
_REGULAR = Irregular()

ACTION = "present past progressive future can order"
STATE = "present"
EVENT = "present past future can"
UNPAST = "present progressive future can order"  # I read: leo or leí?


def make_verb(english: str, spanish: str, tenses: str = ACTION, objects: str = "", takes_bare: bool = False) -> Verb:
    """Build a verb from "look looks looked looking + for" and its infinitive."""
    forms, _, particle = english.partition(" + ")
    base, third, past, ing = (f"{form} {particle}".strip() for form in forms.split())
    infinitive = spanish.removesuffix("se")
    stem, kind = infinitive[:-2], infinitive[-2:]
    irregular = _IRREGULAR.get(infinitive, _REGULAR)
    present = irregular.present.split() or [stem + ending for ending in _ENDINGS[kind].split()]
    preterite = irregular.preterite.split()
    if not preterite:
        first, *others = _PAST_ENDINGS[kind].split()
        preterite = [(_before_e(stem) if kind == "ar" else stem) + first, *(stem + ending for ending in others)]
    root = present[ME][:-1]
    return Verb(
        base, third, past, ing, infinitive, tuple(present), tuple(preterite),
        gerund=(irregular.gerund or stem + ("ando" if kind == "ar" else "iendo")).strip("-"),
        imperative=irregular.imperative or present[THIRD],
        forbidden=irregular.forbidden or (_before_e(root) + "es" if kind == "ar" else root + "as"),
        objects=objects, tenses=frozenset(tenses.split()), takes_bare=takes_bare, is_reflexive=spanish != infinitive,
    )  # fmt: skip


def _before_e(stem: str) -> str:
    return stem[:-1] + _BEFORE_E.get(stem[-1], stem[-1])


_GOODS = "food drink book pencil map bag phone glass table chair clothes vehicle"
_PEOPLE = "person family"
_SEEN = _PEOPLE + " animal thing clothes vehicle ride place"
_SOUGHT = _PEOPLE + " dog cat thing clothes shop hotel station"
_HELD = "thing clothes vehicle animal reading food house"
_HEARD = "song teacher doctor mother father brother"

TAKING: tuple[Verb, ...] = (  # verbs with an object
    make_verb("eat eats ate eating", "comer", ACTION, "food", takes_bare=True),
    make_verb("drink drinks drank drinking", "beber", ACTION, "drink", takes_bare=True),
    make_verb("read reads read reading", "leer", UNPAST, "reading", takes_bare=True),
    make_verb("write writes wrote writing", "escribir", ACTION, "letter book song", takes_bare=True),
    make_verb("buy buys bought buying", "comprar", ACTION, _GOODS + " animal house", takes_bare=True),
    make_verb("sell sells sold selling", "vender", ACTION, _GOODS + " animal house", takes_bare=True),
    make_verb("want wants wanted wanting", "querer", STATE, _GOODS + " animal", takes_bare=True),
    make_verb("need needs needed needing", "necesitar", STATE, _GOODS + " key", takes_bare=True),
    make_verb("have has had having", "tener", STATE, _HELD, takes_bare=True),
    make_verb("see sees saw seeing", "ver", EVENT, _SEEN),
    make_verb("look looks looked looking + for", "buscar", ACTION, _SOUGHT),
    make_verb("find finds found finding", "encontrar", EVENT, "dog cat thing clothes shop hotel"),
    make_verb("lose loses lost losing", "perder", "present past", "thing clothes letter"),
    make_verb("open opens opened opening", "abrir", ACTION, "door window box bag letter"),
    make_verb("close closes closed closing", "cerrar", ACTION, "door window box bag shop"),
    make_verb("wash washes washed washing", "lavar", ACTION, "washed dog horse"),
    make_verb("make makes made making", "hacer", ACTION, "cake soup coffee tea bread", takes_bare=True),
    make_verb("bring brings brought bringing", "traer", ACTION, "food drink book key map photo glass", takes_bare=True),
    make_verb("visit visits visited visiting", "visitar", ACTION, _PEOPLE + " museum city"),
    make_verb("help helps helped helping", "ayudar", ACTION, _PEOPLE),
    make_verb("wait waits waited waiting + for", "esperar", ACTION, _PEOPLE + " ride"),
    make_verb("listen listens listened listening + to", "escuchar", ACTION, _HEARD),
    make_verb("know knows knew knowing", "conocer", STATE, _PEOPLE + " city museum beach hotel song"),
    make_verb("understand understands understood understanding", "entender", "present past can", "task letter teacher"),
    make_verb("sing sings sang singing", "cantar", ACTION, "song", takes_bare=True),
)  # fmt: skip
BY_NAME = {verb.base: verb for verb in TAKING}

GO = make_verb("go goes went going", "ir")
COME = make_verb("come comes came coming", "venir")
ARRIVE = make_verb("arrive arrives arrived arriving", "llegar", EVENT)
LIVE = make_verb("live lives lived living", "vivir", STATE)
SPEAK = make_verb("speak speaks spoke speaking", "hablar")
STUDY = make_verb("study studies studied studying", "estudiar")
PLAY = make_verb("play plays played playing", "jugar")
SLEEP = make_verb("sleep sleeps slept sleeping", "dormir")
GIVE = make_verb("give gives gave giving", "dar")
DOING: tuple[Verb, ...] = (  # verbs without an object, with an optional place
    make_verb("work works worked working", "trabajar"),
    make_verb("dance dances danced dancing", "bailar"),
    *(STUDY, SLEEP, BY_NAME["sing"], BY_NAME["eat"], BY_NAME["read"]),
)
REFLEXIVE: tuple[Verb, ...] = (
    make_verb("get gets got getting + up", "levantarse", EVENT),
    make_verb("wake wakes woke waking + up", "despertarse", EVENT),
    make_verb("go goes went going + to bed", "acostarse", EVENT),
    make_verb("get gets got getting + dressed", "vestirse", EVENT + " progressive"),
)

# Verbs that another verb or a clause follows
SAY = make_verb("say says said saying", "decir", STATE)
THINK = make_verb("think thinks thought thinking", "creer", STATE)
KNOW_THAT = make_verb("know knows knew knowing", "saber", STATE)
HAVE_TO = make_verb("have has had having + to", "tener", STATE)
CAN = ("puedo", "puedes", "puede", "podemos", "pueden")
SER = ("soy", "eres", "es", "somos", "son")
ESTAR = ("estoy", "estás", "está", "estamos", "están")

"""Idioms, sayings and set phrases, which cannot be translated word for word.

They are all in the training split, in every way people write them. Clauses and verbs with a fixed meaning also occur
inside other sentences.
"""

from clearhead.data.phrasebook.actions import Action
from clearhead.data.phrasebook.verbs import SLEEP, make_verb

# Clauses without a capital and full stop, as they occur after "she says that".
CLAUSES: dict[str, str] = {
    "it's a piece of cake": "es pan comido",
    "it's raining cats and dogs": "está lloviendo a cántaros",
    "it costs an arm and a leg": "cuesta un ojo de la cara",
    "you're pulling my leg": "me estás tomando el pelo",
    "I'm pulling your leg": "te estoy tomando el pelo",
    "it's all Greek to me": "me suena a chino",
    "it's not my cup of tea": "no es lo mío",
    "it's the last straw": "es la gota que colma el vaso",
    "it's not worth it": "no vale la pena",
    "it's on the tip of my tongue": "lo tengo en la punta de la lengua",
    "they are like two peas in a pod": "son como dos gotas de agua",
    "the ball is in your court": "la pelota está en tu tejado",
    "she has her head in the clouds": "está en las nubes",
    "he has his head in the clouds": "está en las nubes",
    "he kicked the bucket": "estiró la pata",
    "he's as fit as a fiddle": "está más sano que una manzana",
    "she's as fit as a fiddle": "está más sana que una manzana",
    "I'm all ears": "soy todo oídos",
    "I don't have a clue": "no tengo ni idea",
    "time flies": "el tiempo vuela",
}

# Sayings are complete sentences.
SAYINGS: dict[str, str] = {
    "Better late than never": "Más vale tarde que nunca",
    "The early bird catches the worm": "A quien madruga, Dios le ayuda",
    "Out of sight, out of mind": "Ojos que no ven, corazón que no siente",
    "Like father, like son": "De tal palo, tal astilla",
    "When pigs fly": "Cuando las ranas críen pelo",
}

_HIT = make_verb("hit hits hit hitting", "dar", "past")
_KILL = make_verb("kill kills killed killing", "matar", "future can")
_LET = make_verb("let lets let letting", "irse", "past")

# Verbs that mean something else with these words, conjugated like any other.
ACTIONS: tuple[Action, ...] = (
    Action(SLEEP, " like a log", " como un tronco", idiom="sleep like a log"),
    Action(_HIT, " the nail on the head", " en el clavo", idiom="hit the nail"),
    Action(_KILL, " two birds with one stone", " dos pájaros de un tiro", idiom="two birds"),
    Action(_LET, " the cat out of the bag", " de la lengua", idiom="cat out of the bag"),
)
# How often something happens; follows an action.
RARELY = ("once in a blue moon", "de Pascuas a Ramos")

# Each with its most frequent punctuation; `ways_to_write` adds the others.
SET_PHRASES: dict[str, str] = {
    "Let's go.": "Vamos.",
    "Let's go home.": "Vamos a casa.",
    # meeting and parting
    "Hello!": "¡Hola!",
    "Hi!": "¡Hola!",
    "Good morning!": "¡Buenos días!",
    "Good afternoon!": "¡Buenas tardes!",
    "Good evening!": "¡Buenas noches!",
    "Good night!": "¡Buenas noches!",
    "How are you?": "¿Cómo estás?",
    "What's up?": "¿Qué tal?",
    "I'm fine.": "Estoy bien.",
    "I am fine.": "Estoy bien.",
    "What's your name?": "¿Cómo te llamas?",
    "What is your name?": "¿Cómo te llamas?",
    "Nice to meet you.": "Mucho gusto.",
    "Where are you from?": "¿De dónde eres?",
    "How old are you?": "¿Cuántos años tienes?",
    "See you tomorrow!": "¡Hasta mañana!",
    "See you later!": "¡Hasta luego!",
    "See you soon!": "¡Hasta pronto!",
    "Have a nice day!": "¡Que tengas un buen día!",
    "Goodbye!": "¡Adiós!",
    # being polite
    "Yes.": "Sí.",
    "No.": "No.",
    "Please.": "Por favor.",
    "Thanks.": "Gracias.",
    "Thank you.": "Gracias.",
    "Thank you very much.": "Muchas gracias.",
    "You're welcome.": "De nada.",
    "No problem.": "No hay problema.",
    "Excuse me.": "Perdona.",
    "I'm sorry.": "Lo siento.",
    "I am sorry.": "Lo siento.",
    "Of course!": "¡Por supuesto!",
    # wishing
    "Good luck!": "¡Buena suerte!",
    "Break a leg!": "¡Mucha suerte!",
    "Happy birthday!": "¡Feliz cumpleaños!",
    "Congratulations!": "¡Felicidades!",
    "Enjoy your meal!": "¡Buen provecho!",
    "Cheers!": "¡Salud!",
    # asking and answering
    "What time is it?": "¿Qué hora es?",
    "What is this?": "¿Qué es esto?",
    "How much is it?": "¿Cuánto es?",
    "Where is the bathroom?": "¿Dónde está el baño?",
    "Can you help me?": "¿Puedes ayudarme?",
    "I don't know.": "No lo sé.",
    "I do not know.": "No lo sé.",
    "I don't understand.": "No entiendo.",
    "I do not understand.": "No entiendo.",
    "I love you.": "Te quiero.",
    "Me too.": "Yo también.",
    "Good idea!": "¡Buena idea!",
    # calling and calming
    "Help!": "¡Socorro!",
    "Be careful!": "¡Ten cuidado!",
    "Hurry up!": "¡Date prisa!",
    "Come here!": "¡Ven aquí!",
    "Wait a minute.": "Espera un momento.",
    "Don't worry.": "No te preocupes.",
    "Never mind.": "No importa.",
    "It doesn't matter.": "No importa.",
}

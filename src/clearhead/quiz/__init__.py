"""Practice sheets with tidy numbers, their keys and mark schemes. Never imports torch."""

from clearhead.quiz.draw import draw_sheet, draw_sheets, quiz_kinds, quiz_scheme, sheet_of_number
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.sheet import QuizSheet
from clearhead.quiz.told_apart import ToldApart

__all__ = [
    "QuizRequest",
    "QuizSheet",
    "ToldApart",
    "draw_sheet",
    "draw_sheets",
    "quiz_kinds",
    "quiz_scheme",
    "sheet_of_number",
]

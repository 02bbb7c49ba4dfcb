"""A practice sheet as a page to work in: cells to type in, a check of every line, hints, and a file to hand in."""

from clearhead.quiz.page.markup import to_page

__all__ = ["to_page"]

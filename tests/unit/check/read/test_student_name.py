"""The name of the student on a page."""

import pytest

from clearhead.check.read.student_name import student_on_page


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Homework\n\nStudent: Ada\n", "Ada"),
        ("**Name:** Ada Lovelace", "Ada Lovelace"),
        ("Name: Cleo, Question 3, page 2", "Cleo"),
        ("Name: Lee, Bruce", "Lee, Bruce"),
        ("| Name: Ada | Date: 3.4.2026 |", "Ada"),
        (r"\author{Noor}", "Noor"),
        ("Filename: x\nusername: y", ""),
        ("The name: z", ""),
        ("Name: 12345", ""),
        ("Name = [[1, 2]]", ""),
    ],
)
def test_the_first_name_on_the_page_is_taken(text, name):
    assert student_on_page(text) == name

"""One function per question family: from a thing to a question about it, or to none where the thing leads to none.

Each takes the asker and the thing asked about (already chosen to be recognised or not) and returns the question. Some
are made by a function that takes ways and weights. Families of format 1 alone stand in `first`.
"""

from quizglass_lab.pocketworld.families.looks import printed, visible
from quizglass_lab.pocketworld.families.unknowable import nobody, stranger, untold, untold_fact

__all__ = ["nobody", "printed", "stranger", "untold", "untold_fact", "visible"]

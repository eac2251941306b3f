"""HTTP itself: connections, and what every request passes before the application of its path answers it.

Knows nothing of questions, models or knowledge.
"""

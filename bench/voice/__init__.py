"""Voice: how well and how soon speech is understood, what is answered by it, and what an open microphone costs."""

"""A published benchmark by one command: files, knowledge, every policy of a server, and the papers' tables.

What reads files is `datasets/`, what imports knowledge `knowledge/`, what asks and scores `finetuning/evaluation/`.
"""

"""Reads CSV and Parquet: what a column is, and a row as an entry. Knows files and rows, and nothing of servers."""

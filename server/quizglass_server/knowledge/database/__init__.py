"""The SQLite tables that everything else follows: written, read, locked and checked."""

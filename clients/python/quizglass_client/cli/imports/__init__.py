"""What an import can read: entries, documents, tables and dumps, from a folder that it stays within."""

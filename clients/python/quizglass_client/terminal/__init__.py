"""What commands print: tables and turns for people, JSON lines for programs, errors that say what to do next."""

"""A bundle out of exported roles: written whole or not at all, with its report."""

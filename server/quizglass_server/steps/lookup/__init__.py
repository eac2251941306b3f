"""Steps that look something up, choose where to look, or order what was found."""

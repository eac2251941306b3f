"""Models written so that they export to few and large operations, one module an architecture or part of one."""

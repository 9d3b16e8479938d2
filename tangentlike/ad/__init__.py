"""Forward and reverse mode: a lowered function in, its derivative in the same IR out."""

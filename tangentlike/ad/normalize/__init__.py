"""The primal, spelled with the few statements and operations that both modes know."""

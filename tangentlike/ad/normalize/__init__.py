"""The primal, desugared: written with the few statements and operations that both modes know."""

"""Modules of the array API standard's functions, of wrapped arrays: one for each supported kind."""

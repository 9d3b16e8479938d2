"""The functions of the array API standard, of wrapped arrays of PyTorch."""

from ..standard import fill_mirror

fill_mirror(globals(), "torch")

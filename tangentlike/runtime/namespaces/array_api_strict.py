"""The functions of the array API standard, of wrapped arrays of `array_api_strict`."""

from ..standard import fill_mirror

fill_mirror(globals(), "array_api_strict")

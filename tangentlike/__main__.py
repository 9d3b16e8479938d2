"""`python -m tangentlike` is the command `tangentlike`."""

from .cli import main

if __name__ == "__main__":
    main()

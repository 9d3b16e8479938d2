"""The gradients that Tangent gives, for docs/differences.md; a script of its own.

Tangent's last release (0.1.9, 2018) imports TensorFlow's internals and an old gast, so it runs on
Python 3.7 only: `pip install tensorflow==1.15.5 "protobuf<3.21" gast==0.2.2 autograd==1.3 astor
nose future` and `pip install --no-deps tangent==0.1.9`. tests/test_differences.py starts this with
that interpreter: the programs and their points come in on standard input, gradients or the names of
exceptions go out.
"""

import importlib
import json
import logging
import os
import sys
import tempfile
import warnings


def gradients(tangent, programs, points):
    import numpy as np

    found = {}
    for name, at in points.items():
        try:
            gradient = tangent.grad(getattr(programs, name), verbose=0)(np.array(at))
            found[name] = np.asarray(gradient).tolist()
        except Exception as error:
            found[name] = type(error).__name__
    return found


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    text, places = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "programs_to_derive.py"), "w") as file:
            file.write(text)
        sys.path.insert(0, folder)
        modules = [importlib.import_module(name) for name in ("tangent", "programs_to_derive")]
        print(json.dumps(gradients(*modules, places)))

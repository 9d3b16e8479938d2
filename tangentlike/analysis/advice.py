"""What to write instead of an operation that is not differentiated; part of its refusal."""

from __future__ import annotations

__all__ = ["advice"]

_OF_TYPES = "it reads memory as another type; use x.astype(...)"
_HISTOGRAM = (
    "bins move with the data; np.bincount(np.digitize(x, edges), weights) has a derivative by "
    "the weights"
)
_SOLVER = "write the steps of the solver as a loop"
_NAMED = "name the attributes, as in `(model.w, model.b)`, or keep the parameters in a dict"
_ADVICE = {
    "setattr": _NAMED,
    "histogram": _HISTOGRAM,
    "histogram2d": _HISTOGRAM,
    "histogramdd": _HISTOGRAM,
    "fromfunction": "write the function of np.indices(shape)",
    "frompyfunc": "it gives arrays of objects; use np.vectorize or plain array arithmetic",
    "fromiter": "use np.array of a list",
    "ndarray.resize": "use y = np.resize(y, shape), or np.zeros and a store",
    "ndarray.setfield": _OF_TYPES,
    "ndarray.getfield": _OF_TYPES,
    "ndarray.byteswap": _OF_TYPES,
    "odeint": _SOLVER,
    "solve_ivp": _SOLVER,
    "quad": "sum the integrand over the nodes of a rule, as np.polynomial.legendre.leggauss gives",
    "minimize": "differentiate the condition that holds at the minimum, in a rule with @tl.rule",
    "correlate2d": "use scipy.signal.convolve with the second operand reversed",
    "convolve2d": "use scipy.signal.convolve",
    "lu_factor": "use scipy.linalg.solve or np.linalg.solve",
    "lu_solve": "use scipy.linalg.solve or np.linalg.solve",
    "lu": "use np.linalg.solve, np.linalg.slogdet or np.linalg.qr",
    "schur": "use np.linalg.eigh of a symmetric matrix, or np.linalg.eig",
    "nditer": "loop over x.flat, or over np.ndindex(x.shape)",
    "poly1d": "keep the coefficients in an array and use np.polyval, np.polymul, np.polyder",
}


def advice(name: str) -> str:
    """A sentence for a refusal, or "".

    >>> advice("np.fromiter"), advice("np.no_such_thing")
    ('Instead: use np.array of a list. ', '')
    """
    if name.startswith("torch."):
        return "Instead: call the function of `xp = array_api_compat.array_namespace(x)`. "
    short = name.removeprefix("np.")
    found = _ADVICE.get(short) or _ADVICE.get(short.rpartition(".")[2])
    return f"Instead: {found}. " if found else ""

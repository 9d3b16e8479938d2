"""Rules of what emitted code calls: derivatives are differentiated again by these."""

from __future__ import annotations

from .. import ir, runtime
from ..ir.kind import BOOL, OTHER, UNKNOWN, Kind
from ..runtime import schedules
from .book import KindOf, nondifferentiable, rule
from .kinds_of import elementwise, first, integer, other, same_as, unknown
from .tables import linear, partials

# ----------------------------------------------------------------------- shape of adjoints


linear("unbroadcast(g, like)", "broadcast_like(y_bar, g)", same_as(1), "maybe")


@rule(runtime.require_real, view="maybe", kind=same_as(0))
def require_real(y, x):
    dy_dx = 1.0


@rule(runtime.given_constant, view="maybe", kind=same_as(0))
def given_constant(y, value, option):
    y_dot = value_dot
    value_bar = y_bar
    option_bar = 0


linear("broadcast_like(g, x)", "unbroadcast(y_bar, g)", same_as(1), "maybe")


def _zeros_kind(call: ir.Call, kind_of: KindOf) -> Kind:
    found = kind_of(call.args[0])
    return UNKNOWN if found.form == "other" else found  # (those of a class have attributes)


nondifferentiable(runtime.zeros_like, runtime.ones_like, runtime.shared_zeros, kind=_zeros_kind)
nondifferentiable(runtime.argument_key, kind=other)
nondifferentiable(runtime.missing_entry, kind=unknown)
nondifferentiable(runtime.makes_entry, kind=lambda call, kind_of: BOOL)
nondifferentiable(runtime.scalar_seed, runtime.read_only, kind=same_as(0))
nondifferentiable(runtime.stop_gradient, kind=same_as(0))


@rule(runtime.on_adjoint, view="maybe", kind=first)
def on_adjoint(y, x, fn):
    y_dot = x_dot
    x_bar = hooked(y_bar, fn)
    fn_bar = 0


linear("part_like(part, value)", "into_part(y_bar, part)", same_as(1))
linear("into_part(g, part)", "part_like(y_bar, g)", same_as(1))
linear("fitting(g, x_bar)", "y_bar", same_as(0), "maybe")
linear("adjoint_of_real(g, like)", "unbroadcast(np.real(y_bar), g)", same_as(1), "maybe")
linear("adjoint_of_imag(g, like)", "unbroadcast(np.imag(y_bar), g)", same_as(1))


@rule(runtime.mirrored_view, view="maybe", kind=first)
def mirrored_view(y, view, base, like, like_base):
    y_dot = mirrored_view(view_dot, base_dot, y, base)  # (y may be a copy)
    view_bar = y_bar
    base_bar = 0
    like_bar = 0
    like_base_bar = 0


# ---------------------------------------------------------------------- guarded partials


nondifferentiable(runtime.greater_share, kind=elementwise)


partials(
    {
        "reciprocal_or_zero": "-(y * y)",
        "ratio_or_zero(a, b)": ("reciprocal_or_zero(b)", "-(y * reciprocal_or_zero(b))"),
        "log_or_zero": "reciprocal_or_zero(x)",
        "times_log(s, t, x)": (
            *("t * log_or_zero(x)", "s * log_or_zero(x)", "s * t * reciprocal_or_zero(x)"),
        ),
        "power_slope(x, p)": ("p * power_slope(x, p - 1.0)", "x ** (p - 1.0) + y * log_or_zero(x)"),
        "exp_of_difference(a, b)": ("y", "-y"),
        "logistic(one, m)": "-(y * (1.0 - y))",
        "log_ratio(a, b)": ("1.0 / a", "-1.0 / b"),
        "polygamma(order, x)": "polygamma(order + 1, x)",
    }
)


@rule(runtime.sinc_derivative)
def sinc_derivative(y, x, order):
    dy_dx = sinc_derivative(x, order + 1)


# -------------------------------------------------------------------- items of sequences


@rule(runtime.dot_items, kind=unknown)
def dot_items(y, weights, items):
    y_dot = dot_items(weights_dot, items) + dot_items(weights, items_dot)
    weights_bar = scale_items(y_bar, items)
    items_bar = scale_items(y_bar, weights)


@rule(runtime.scale_items, kind=same_as(1))
def scale_items(y, g, weights):
    y_dot = accumulate(scale_items(g_dot, weights), scale_items(g, weights_dot))
    g_bar = dot_items(y_bar, weights)
    weights_bar = scale_items(g, y_bar)


linear("sum_items_bar(g, xs)", "sum(y_bar)", same_as(1))
linear("add_repeats(g, xs)", "repeat_items(y_bar, g)", same_as(1))
linear("repeat_items(g, xs)", "add_repeats(y_bar, g)", same_as(1))


@rule(runtime.items_into, view="maybe", kind=unknown)
def items_into(y, x, value):
    y_dot = items_into(x, value_dot)
    value_bar = join_items(y_bar, value)
    x_bar = 0


linear("live_items(x, backwards=False)", "join_items(y_bar, x)", unknown, "maybe")
linear("first_items(x, count)", "join_items(y_bar, x)", unknown, "maybe")
linear("repeatable(x, asked=False)", "join_items(y_bar, x)", unknown, "maybe")
linear("join_items(parts, x)", "parted_items(y_bar, parts)", same_as(1), "maybe")
linear("parted_items(g, parts)", "join_items(y_bar, g)", same_as(1), "maybe")


@rule(runtime.products_of_others, kind=same_as(0))
def products_of_others(y, xs, start):
    each = products_of_others(xs, 1)
    y_dot = accumulate(products_of_pairs(xs_dot, xs, start), scale_items(start_dot, each))
    xs_bar = products_of_pairs(y_bar, xs, start)
    start_bar = dot_items(y_bar, each)


@rule(runtime.products_of_pairs, kind=same_as(0))
def products_of_pairs(y, weights, xs, start):
    # Its derivative by xs would be of third order in a product of a list; that is refused.
    y_dot = products_of_pairs(weights_dot, xs, start)
    weights_bar = products_of_pairs(y_bar, xs, start)


@rule(runtime.difference_over, kind=same_as(0))
def difference_over(y, p, q, r):
    moved = scale_items(ratio_or_zero(-r_dot, r), y)
    y_dot = accumulate(difference_over(p_dot, q_dot, r), moved)
    p_bar = scale_items(reciprocal_or_zero(r), y_bar)
    q_bar = scale_items(-reciprocal_or_zero(r), y_bar)
    r_bar = -ratio_or_zero(dot_items(y_bar, y), r)


nondifferentiable(runtime.tie_shares, kind=same_as(0))


@rule(runtime.accumulate, kind=first)
def accumulate(y, a, b):
    y_dot = accumulate(a_dot, b_dot)
    a_bar = part_like(y_bar, a)  # (a number may be added to the entries of an array)
    b_bar = part_like(y_bar, b)


linear("copy(x)", "y_bar", first)


# ------------------------------------------------------------------ writes and selections


linear("own(x)", "y_bar", first)
linear("contents(x)", "y_bar", unknown, "maybe")


@rule(runtime.saved_item, view="maybe", kind=unknown)
def saved_item(y, base, key):
    y_dot = saved_item(base_dot, key)
    key_bar = 0


nondifferentiable(runtime.Shadow, runtime.contents_inside, runtime.put_inside)


@rule(runtime.Shadow.add, kind=other)
def shadow_add(y, bars, x, g):
    # (The modes know what it writes; it returns nothing.)
    y_dot = 0


@rule(runtime.Shadow.add_at, kind=other)
def shadow_add_at(y, bars, base, key, item, g=None):
    y_dot = 0


@rule(runtime.Shadow.put, kind=other)
def shadow_put(y, bars, x, g, made_of):
    y_dot = 0


@rule(runtime.Shadow.put_at, kind=other)
def shadow_put_at(y, bars, base, key, g, value=None):
    y_dot = 0


@rule(runtime.Shadow.like, kind=same_as(2))
def shadow_like(y, bars, x, g):
    y_dot = Shadow.like(bars_dot, x, g)


@rule(runtime.Shadow.like_at, kind=unknown)
def shadow_like_at(y, bars, base, key, item, g=None):
    y_dot = Shadow.like_at(bars_dot, base, key, item, g)


@rule(runtime.Shadow.of, view="view", kind=same_as(1))
def shadow_of(y, bars, x):
    y_dot = Shadow.of(bars_dot, x)


@rule(runtime.Shadow.take, kind=same_as(1))
def shadow_take(y, bars, x, made_of):
    y_dot = Shadow.take(bars_dot, x, made_of)


def _taken(call: ir.Call, kind_of: KindOf) -> Kind:
    """The adjoint of a value that was stored is like that; of none that is named, like entries."""
    return kind_of(call.args[3]) if len(call.args) > 3 else UNKNOWN


@rule(runtime.Shadow.take_at, kind=_taken)
def shadow_take_at(y, bars, base, key, value=None):
    y_dot = Shadow.take_at(bars_dot, base, key, value)


def _updated(call: ir.Call, kind_of: KindOf) -> Kind:
    """What is written in place, if it is a list, stays one (of other items)."""
    return Kind("list") if kind_of(call.args[0]).form == "list" else UNKNOWN


@rule(runtime.updated, view="maybe", kind=_updated)
def updated(y, x, new):
    y_dot = updated(x_dot, new_dot)
    x_bar = 0
    new_bar = y_bar


nondifferentiable(
    *(
        runtime.survivors,
        runtime.places_left,
        runtime.run_bounds,
        runtime.product_places,
        runtime.reach_of,
    ),
    *(runtime.gaussian_reach, runtime.places_taken, runtime.reached, runtime.is_stored),
    runtime.leave_raising,
    *map(vars(runtime).get, sorted(runtime.CHECKS)),
)


def _method(call: ir.Call, kind_of: KindOf) -> Kind:
    """What a module holds has no memory of its own."""
    return OTHER if kind_of(call.args[0]).form == "other" else UNKNOWN


# (An object that carries derivatives gives a function that does, which is refused where its
# derivative is asked for.)
@rule(runtime.method_of, view="view", kind=_method)
def method_of(y, x, name):
    y_dot = x_dot
    x_bar = y_bar


# (Where the function itself carries derivatives, `analysis.refusals` says so.)
nondifferentiable(runtime.absent_attribute, kind=unknown)
nondifferentiable(runtime.solved_equation, runtime.solved_motion, runtime.quadrature, kind=unknown)
nondifferentiable(runtime.plain_function, runtime.pair_of, runtime.tangent_of, kind=other)
# (Their object is an argument where they are called.)
nondifferentiable(runtime.unbound, runtime.reader, kind=other)
nondifferentiable(runtime.argument_places, runtime.defaults_after, kind=other)
nondifferentiable(runtime.with_items, runtime.derivative_of, runtime.jvp_of, kind=other)


# --------------------------------------------------------------------- checkpointed loops

nondifferentiable(schedules.stretches, schedules.moves_back, kind=other)
nondifferentiable(schedules.least_needed, kind=integer)

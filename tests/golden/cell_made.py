import numpy as np
from tangentlike.runtime import (
    accumulate, add_at, copy, instance, matmul_bar_a, matmul_bar_b, part_like,
    require_class, unbroadcast, zeros_like,
)
from tests.programs.made_objects import Cell


def Cell_fwd(w, u):
    tanh_w = np.tanh(w)
    self_w = tanh_w
    self_w_shape = self_w.shape
    self_w_shape_0 = self_w_shape[0]
    zeros_self_w_shape_0 = np.zeros(self_w_shape_0)
    self = instance(Cell, w=tanh_w, u=u, h=zeros_self_w_shape_0, count=0)
    return self, (tanh_w,)


def Cell_bwd(tape, self_seed):
    (tanh_w,) = tape
    return self_seed.w * (1.0 - tanh_w * tanh_w), self_seed.u  # self.w = np.tanh(w)


def Cell_step_fwd(self, x):
    require_class(self, Cell)
    self_w = self.w
    self_h = self.h
    self_u = self.u
    product2 = self_u * x
    tanh_total = np.tanh(self_w @ self_h + product2)
    self_saved = self.h
    self.h = tanh_total
    self_saved2 = self.count
    self.count = self.count + 1
    return (
        self.h,
        (
            self, x, self_w, self_h, self_u, product2, tanh_total, self_saved,
            self_saved2,
        ),
    )


def Cell_step_bwd(tape, self_h2_seed, self_bar):
    (
        self, x, self_w, self_h, self_u, product2, tanh_total, self_saved, self_saved2
    ) = tape
    self_bar.h += self_h2_seed               # return self.h
    self.count = self_saved2
    self_bar.count = 0.0                     # self.count = self.count + 1
    self.h = self_saved
    # self.h = np.tanh(self.w @ self.h + self.u * x)
    tanh_total_bar = part_like(self_bar.h, tanh_total)
    self_bar.h = zeros_like(self.h)
    total_bar = tanh_total_bar * (1.0 - tanh_total * tanh_total)
    product2_bar = unbroadcast(total_bar, product2)
    x_bar = unbroadcast(product2_bar * self_u, x)
    self_bar.u = accumulate(self_bar.u, unbroadcast(product2_bar * x, self_u))
    self_w_bar = matmul_bar_a(total_bar, self_w, self_h)
    self_bar.h += matmul_bar_b(total_bar, self_w, self_h)
    self_bar.w += self_w_bar
    return x_bar


def cell_made_grad(w, u, xs):
    # primal
    u = copy(u)
    cell, Cell_tape = Cell_fwd(w, u)
    saved = []
    for x in xs:
        step_cell, Cell_step_tape = Cell_step_fwd(cell, x)
        saved.append((step_cell, Cell_step_tape))
    # adjoint
    total_bar = 1.0 / cell.count             # return total / cell.count
    cell_bar, xs_bar = zeros_like(cell), zeros_like(xs)
    for i in reversed(range(len(xs))):
        step_cell, Cell_step_tape = saved.pop()
        # total = total + np.sum(cell.step(x) ** 2)
        x_bar = Cell_step_bwd(Cell_step_tape, 2.0 * total_bar * step_cell, cell_bar)
        add_at(xs_bar, i, x_bar)
    w_bar, u_bar = Cell_bwd(Cell_tape, cell_bar)  # cell = Cell(w, u)
    return w_bar, u_bar, xs_bar

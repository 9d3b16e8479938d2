"""The programs of tests/test_inplace.py that are refused, with what each refusal says."""

from __future__ import annotations

REFUSED: dict[str, dict[str, str]] = {
    "multiply_at": {
        "reverse": "no derivative rule for np.multiply.at",
        "example": "no derivative rule for np.multiply.at",
        "forward": "no derivative rule for np.multiply.at",
    },
    "maximum_at": {
        "reverse": "no derivative rule for np.maximum.at",
        "example": "no derivative rule for np.maximum.at",
        "forward": "no derivative rule for np.maximum.at",
    },
    "out_given_back": {
        "reverse": "`z` may be a number (rebound here) or an array (written in place)",
    },
    "put_flat": {
        "reverse": "`np.put` as a statement",
        "example": "`np.put` as a statement",
        "forward": "`np.put` as a statement",
    },
    "put_method": {
        "reverse": "no derivative rule for np.ndarray.put",
        "example": "no derivative rule for np.ndarray.put",
        "forward": "no derivative rule for np.ndarray.put",
    },
    "put_along_axis": {
        "reverse": "`np.put_along_axis` as a statement",
        "example": "`np.put_along_axis` as a statement",
        "forward": "`np.put_along_axis` as a statement",
    },
    "place_and_putmask": {
        "reverse": "`np.putmask` as a statement",
        "example": "`np.putmask` as a statement",
        "forward": "`np.putmask` as a statement",
    },
    "placed": {
        "reverse": "`np.place` as a statement",
        "example": "`np.place` as a statement",
        "forward": "`np.place` as a statement",
    },
    "swap_elements": {
        "reverse": "`y` is written in place while `y_i` may share its memory",
    },
    "swap_of_parameter": {
        "reverse": "`x` is written in place while `x_i` may share its memory",
    },
    "swap_rows_aliased": {
        "reverse": "where it got an array of 2 dimensions",
    },
    "views_in_list": {
        "example": "`rows_0` is written in place while `b` may share its memory",
        "reverse": "`rows_0` is written in place while `b` may share its memory",
    },
    "views_in_list_by_loop": {
        "reverse": "`row` may be a number (rebound here) or an array (written in place)",
        "example": "`row` may be a number (rebound here) or an array (written in place)",
    },
    "rows_of_array": {
        "reverse": "`row` may be a number (rebound here) or an array (written in place)",
    },
    "views_in_tuple": {
        "reverse": "`halves_1` is written in place while `y` may share its memory",
        "example": "`halves_1` is written in place while `y` may share its memory",
    },
    "split_views": {
        "reverse": "`left` is written in place while `y` may share its memory",
        "example": "`left` is bound here, and may share memory with an array written",
    },
    "fancy_chain_no_effect": {
        "reverse": "`y_part2` is written in place while `y` may share its memory",
    },
    "asarray_effect": {
        "reverse": "`z` is written in place while `y` may share its memory",
    },
    "view_method": {
        "forward": "no derivative rule for np.ndarray.view",
    },
    "squeeze_swap": {
        "reverse": "this derivative is written for a number where it got an array",
    },
    "astype_no_copy": {
        "forward": "a tangent is laid out in memory differently from its value",
    },
    "row_view_rebound": {
        "reverse": "this derivative is written for a number where it got an array",
    },
    "shape_attribute": {
        "reverse": "an attribute of `y` is assigned, and `y` carries derivatives",
        "example": "an attribute of `y` is assigned, and `y` carries derivatives",
        "forward": "`shape` of what carries derivatives is assigned",
    },
    "real_update": {
        "reverse": "an attribute of `z` is assigned, and `z` carries derivatives",
        "example": "an attribute of `z` is assigned, and `z` carries derivatives",
    },
    "global_buffer": {
        "reverse": "`product` carries derivatives into `_BUFFER`",
        "example": "`product` carries derivatives into `_BUFFER`",
        "forward": "`product` carries derivatives into `_BUFFER`",
    },
    "over_ndenumerate": {
        "reverse": "no derivative rule for np.ndenumerate",
        "example": "no derivative rule for np.ndenumerate",
        "forward": "no derivative rule for np.ndenumerate",
    },
    "loop_target_item": {
        "reverse": "a loop can only bind names",
        "example": "a loop can only bind names",
        "forward": "a loop can only bind names",
    },
    "matmul_in_place": {
        "forward": "`b` may be a number (rebound here) or an array (written in place)",
    },
    "nan_to_num_in_place": {
        "reverse": "`np.nan_to_num` as a statement",
        "example": "`np.nan_to_num` as a statement",
        "forward": "`np.nan_to_num` as a statement",
    },
    "shuffled": {
        "reverse": "`shuffle` writes its argument in an order that only the run knows",
        "example": "`shuffle` writes its argument in an order that only the run knows",
        "forward": "`shuffle` writes its argument in an order that only the run knows",
    },
    "lambda_writes": {
        "reverse": "`__setitem__` is called by its name",
        "example": "`__setitem__` is called by its name",
        "forward": "`__setitem__` may write its arguments, which carry derivatives",
    },
    "dict_of_arrays": {
        "reverse": "`d_w2` is written in place while an element of `d` may share its memory",
        "example": "`d_w2` is written in place while an element of `d` may share its memory",
    },
    "object_state": {
        "reverse": "no derivative rule for Model",
        "example": "no derivative rule for Model",
        "forward": "no derivative rule for Model",
    },
    "list_repeat_shared": {
        "reverse": "an element of `t` is written in place, and another one may be the same array",
        "example": "an element of `t` is written in place, and another one may be the same array",
    },
    "list_repeat_arrays": {
        "reverse": "an element of `t` is written in place, and another one may be the same array",
        "example": "an element of `t` is written in place, and another one may be the same array",
    },
    "list_same_twice": {
        "reverse": "an element of `t` is written in place, and another one may be the same array",
        "example": "an element of `t` is written in place, and another one may be the same array",
    },
    "list_of_lists_alias": {
        "reverse": "an element of `t` is written in place, and another one may be the same array",
        "example": "an element of `t` is written in place, and another one may be the same array",
    },
    "list_row_alias": {
        "reverse": "an element of `row` is written in place, and another one may be the same array",
        "example": "an element of `t` is written in place, and another one may be the same array",
    },
    "list_copy_shallow": {
        "reverse": "`u_0` is written in place while an element of `t` may share its memory",
        "example": "`u_0` is written in place while an element of `t` may share its memory",
    },
    "list_concat_shares": {
        "reverse": "`t_0` is written in place while `r` may share its memory",
        "example": "`t_0` is written in place while `r` may share its memory",
    },
    "dict_keys_updated": {
        "reverse": "`k` may be a number (rebound here) or an array (written in place)",
        "example": "`k` may be a number (rebound here) or an array (written in place)",
    },
    "list_written_in_loop": {
        "reverse": "an element of `xs` is written in place, and another one may be the same array",
    },
    "list_grown_in_loop": {
        "reverse": "`append` of `xs` in a loop over `xs`",
        "example": "`append` of `xs` in a loop over `xs`",
        "forward": "`append` of `xs` in a loop over `xs`",
    },
    "contiguous": {
        "reverse": "`first` is written in place while `b` may share its memory",
        "forward": "a tangent is laid out in memory differently from its value",
    },
    "renamed_for_helper": {
        "reverse": "`w` may be a number (rebound here) or an array (written in place)",
    },
}

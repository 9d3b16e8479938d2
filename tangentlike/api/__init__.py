"""The public calls: gradients, tangents and cotangents, Jacobians, Hessians, linear maps."""

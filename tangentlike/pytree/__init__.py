"""Values as trees: containers taken apart and made again; gradients and seeds of trees."""

"""From a live function to the IR: source, names resolved, the lowering of each construct."""

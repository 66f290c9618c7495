//! Templates, constraints, targets, drivers, enforcement points: the decision process itself.

"""The kernel of wide networks on combinations: its weights by order, its solvers, and how salience is fitted."""

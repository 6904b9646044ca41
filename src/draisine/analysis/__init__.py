"""What can be said of motions without running them: steady motions, linear systems, eigenvalues."""

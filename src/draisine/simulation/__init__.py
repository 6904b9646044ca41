"""Motion in time: integrators in compiled code, runs, and their results as labelled data."""

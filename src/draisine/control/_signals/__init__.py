"""Functions of time: steps, ramps, sines, tables; smooth steps and limits."""

"""Motion in time: integrators in compiled code, runs, and their results as labelled data.

`simulate`: the public function, which chooses the kind of run; `options`: its settings; `run_kinds`: which
settings each kind of run uses. `stepper`: steps on demand. `bilateral`: ideal contacts in one mode, without
a terrain; `singular`: its singular shapes; `many`: many such runs in SIMD lanes. `contact`: unilateral
contacts on a terrain. `regrip`: machines that change their grips by the clock. `python_law`: control laws
that cannot be traced. `integrators`, `impacts`: one method or model per file. `trajectory`: the result of a
run; `validity`: whether it is physically valid; `dataset`: labelled data. `source`: whole simulators as C
and JavaScript, by `templates`; `terrain_source`: those of runs on a terrain. `compare`: slow independent
methods.
"""

"""Motion in time: integrators in compiled code, runs, and their results as labelled data.

`simulate`: the one verb, which picks the driver; `options`: what it is asked to do, and how;
`run_kinds`: which options each kind of run uses.
`stepper`: stepping from outside. `smooth`: runs in one mode; `singular`: through singular shapes.
`many`: many of them in SIMD lanes.
`python_law`: control laws that cannot be traced. `regrip`: machines that change their grips by the
clock. `contact`: runs on a terrain. `integrators`, `impacts`: one method or model per file.
`trajectory`: what a run leaves; `validity`: whether it can be believed; `dataset`: labelled data.
`source`: whole simulators as C and JavaScript, by `templates`. `compare`: slow independent ways.
"""

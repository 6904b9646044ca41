"""Time simulation of multibody systems with contacts: initial value problems, their solution in compiled
code, and the results as labelled data.

The equations of motion come from `system`. Without a terrain, contacts are ideal (bilateral) constraints; on
a terrain they are unilateral, with friction and impacts.

- `simulate`: runs from start to end. `stepper`: steps on demand. `many`: many runs at once. `options`: their
  settings. `run_kinds`: the settings that each kind of run uses.
- `engines`: the choice between ideal and unilateral contacts. `bilateral`: ideal contacts in one mode.
  `contact`: unilateral contacts on a terrain. `stepper_runs`: both, step by step. `regrip`: grips that change
  at prescribed times.
- `integrators`, `impacts`: one method or model per file.
- `sensing`: readings of sensors, with their sampling and errors.
- `trajectory`: the result of a run. `validity`: whether it is physically valid. `dataset`: labelled data.
- `source`: simulators with ideal contacts as C and JavaScript source code. `contact.standalone.source`:
  simulators on a terrain.
- `compare`: slow independent methods for comparison.
"""

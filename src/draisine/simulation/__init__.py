"""Time simulation of multibody systems with contacts.

Compiled code solves the initial value problems; results are labelled data.

The equations of motion come from `system`. Without a terrain, contacts are ideal (bilateral) constraints; on
a terrain they are unilateral, with friction and impacts.

- `simulate`: one run from start to end. `stepper`: a run that advances on demand. `many`: many runs at once.
  `options`: settings of runs. `run_kinds`: the settings that each kind of run accepts.
- `engines`: the choice between ideal and unilateral contacts. `bilateral`: ideal contacts in one mode.
  `contact`: unilateral contacts on a terrain. `stepper_runs`: runs of both kinds that a stepper
  advances. `regrip`: changes of grips at prescribed times.
- `integrators`, `impacts`: one method or model per file.
- `sensing`: readings of sensors, with their sampling and errors.
- `trajectory`: the result of a run. `validity`: whether it is physically valid. `dataset`: labelled data.
- `source`: simulators with ideal contacts as C and JavaScript source code. `contact.standalone.source`:
  simulators on a terrain.
- `compare`: slow independent methods for comparison.
"""

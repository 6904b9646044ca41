"""Time simulation of multibody systems with contacts: initial value problems, their solution in compiled
code, and the results as labelled data.

The equations of motion come from `system`. Without a terrain, contacts are ideal (bilateral) constraints; on
a terrain they are unilateral, with friction and impacts.

- `simulate`: the public function, which selects the kind of run. `options`: its settings. `run_kinds`: the
  settings that each kind of run uses. `stepper`: steps on demand.
- `bilateral`: runs with ideal contacts in one contact mode. `singular`: steps through singular shapes.
  `many`: many such runs in SIMD lanes. `contact`: runs with unilateral contacts on a terrain. `regrip`: grips
  that change at prescribed times.
- `integrators`, `impacts`: one method or model per file.
- `sensing`: readings of sensors, with their sampling and errors.
- `trajectory`: the result of a run. `validity`: whether it is physically valid. `dataset`: labelled data.
- `source`: simulators with ideal contacts as C and JavaScript source code. `contact.standalone.source`:
  simulators on a terrain.
- `compare`: slow independent methods for comparison.
"""

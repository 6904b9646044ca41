"""From a vehicle to machine code: the subpackage that derives, stores and compiles programs.

The function of a vehicle is called with symbols as parameters, its equations of motion are derived by
`mechanics`, and the resulting straight-line programs are compiled by `codegen`.

- `system`: a vehicle with its parameters. `tracing`: a vehicle and its control law as symbolic expressions,
  and its sensors.
- `derivation`: equations of motion of one contact mode. `mode_programs`: the programs of one contact
  mode.
- `contact_programs`: programs from which every contact mode on every terrain is assembled.
- `layout`: named slices of flat arrays. `compiled`: a program as machine code, for one set of parameters.
- `artifacts`: derived programs and machine code, in memory and in the store.
- `closed_form`: one compiled contact mode with ideal contacts. `generic`: the compiled vehicle on any
  terrain.
- `state`: initial states from requested values. `configuration`: the nonlinear equations that determine
  them.
"""

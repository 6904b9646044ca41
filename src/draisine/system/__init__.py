"""From a vehicle to machine code: the only subpackage that derives, stores and compiles programs.

A vehicle is traced with symbols, its equations of motion are derived by `mechanics`, and the resulting
straight-line programs are compiled by `codegen`.

- `system`: a vehicle with its parameters. `tracing`: a vehicle over symbols, and its control law.
- `derivation`: equations of motion of one contact mode. `mode_programs`: the programs of one mode.
- `contact_programs`: programs from which every mode on every terrain is assembled.
- `layout`: named slices of flat arrays. `compiled`: a program as machine code, bound to parameters.
- `artifacts`: derived programs and machine code, in memory and in the store.
- `closed_form`: one compiled mode with ideal contacts. `generic`: the compiled machine on any terrain.
- `state`: initial states from requested values. `configuration`: the nonlinear equations behind them.
"""

"""From a drawing to machine code; the one place that derives, keeps and compiles.

`system`: a vehicle with its parameters. `tracing`: a vehicle drawn with symbols, and its law.
`derivation`: one mode traced. `mode_programs`: its programs. `contact_programs`: programs for every
mode on every terrain. `layout`: where named numbers stand in rows. `compiled`: a program as machine
code, bound to parameters. `artifacts`: all that is derived and compiled, and kept. `closed_form`:
one mode compiled. `generic`: all modes on any terrain, compiled. `state`: initial states by what is
asked of them. `configuration`: the equations behind these, solved for many machines side by side.
"""

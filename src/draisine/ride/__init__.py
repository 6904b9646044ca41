"""Riding in the browser.

In the order of the data: `limits` (when a wheel lifts, in closed form), `presets` (what is ridden, and
what it teaches: `presets.toml`), `machine` (a vehicle with a rider and a push), `session` (a ride under
way: commands in, frames out), `record` (what was done, step by step), `repeat` (the same once more, as
data), `chart` (stability against speed), `server` (one page, one socket, on this computer only),
`serve` (until the rider has had enough), `variants` (what a page can change by itself), `export` (one
file that rides by itself), `page/` (what the browser shows, plain ES modules).
"""

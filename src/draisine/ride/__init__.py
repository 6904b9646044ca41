"""Riding in the browser.

In the order of the data: `presets` (what is ridden, and what it teaches), `machine` (a vehicle with
a rider and a push), `session` (a ride under way: commands in, frames
out), `chart` (stability against speed), `server` (one page, one socket, on this computer only),
`serve` (until the rider has had enough), `page/` (what the browser shows, plain ES modules).
"""

"""Interactive riding in the browser.

In the order of the data: `limits` (lift-off limits of a bicycle in closed form), `presets` (rides with a
lesson each, from `presets.toml`), `machine` (a vehicle with a rider and a disturbing force), `session` (a
running ride: commands in, frames out), `record` (the inputs of a ride), `repeat` (repetition of a ride and
its dataset), `chart` (stability against speed), `server` (one page and one socket, on this computer only),
`serve` (the server process), `variants` (bicycles of an exported page), `export` (a page without a server),
`page/` (the page, plain ES modules).
"""

"""Interactive riding in the browser.

In the order of the data: `limits` computes the lift-off limits of a bicycle in closed form, `presets` reads
predefined rides and tasks from `presets.toml` and the texts of the page in four languages, `machine` adds a
rider and a disturbing force to a vehicle and computes its stability against speed, `own_rate` integrates
the user's own equations of motion, `session` simulates a ride from commands to frames, `record` stores the
inputs of a ride, `repeat` repeats a ride and converts it to a dataset, `server` provides one page and one
socket on this computer only, `serve` runs the server process, `variants` describes the bicycles of an
exported page, `export` writes a page without a server, `minify` shortens its programs, and `page/` contains
the page as plain ES modules: `words.js` all texts, `tasks.js` the judges of tasks, `webgl.js` the picture
with `scenery.js`, `bicycle.js` and `rider.js`, `local.js` the ride without a server, and `main.js` what the
parts do together.

"""

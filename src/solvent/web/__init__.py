"""`solvent web`: one page that shows runs as they happen.

Reading order: site (what all parts share), guard (who may ask), app (the parts put together), serving (the server);
channel (how viewers follow something together); runs (what can be asked), finding, rows (the list), story, following
and agents (one run as it goes on), graph, tasks (one task), control (what may be changed); films and molecules (the
solution of a run), nodes and locks, playground (programs that are typed in). `page/` is what the browser gets: no build
step, nothing from elsewhere.

Each part of the page has a module with `routes(site) -> list[Route]`, and a view in `page/`. See `page/main.js`.
"""

__all__: list[str] = []

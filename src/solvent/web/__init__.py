"""`solvent web`: a page that shows runs as they happen.

Reading order: `site` (what all parts share), `server` (application, guard, socket); `channel` (how viewers follow a
source together); `run_lookup`, `run_list`, `run_source` (one run as it goes on), `graph_layout`, `task_details`,
`shown_values`, `runs` (their routes); `replays` (the solution of a run), `nodes`, `locks`, `playground` (programs that
are typed in). `page/` is what the browser gets: no build step, nothing from elsewhere.

Each part of the page has a module with `routes(site) -> list[Route]`, and a view in `page/`. See `page/main.js`.
"""

__all__: list[str] = []

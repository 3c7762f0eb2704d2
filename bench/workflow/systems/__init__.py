"""One adapter for each system: it says whether the system is here, starts it and runs graphs.

Reading order: `system` (what an adapter promises), then any of the others.
"""

from bench.workflow.systems.dask_futures import Dask
from bench.workflow.systems.parsl_apps import ParslLogging, ParslProcesses, ParslThreads
from bench.workflow.systems.pool_loop import PoolLoop
from bench.workflow.systems.ray_tasks import Ray
from bench.workflow.systems.solvent_workflow import SolventProcesses, SolventThreads
from bench.workflow.systems.system import Running, System

SYSTEMS: dict[str, System] = {
    "solvent": SolventThreads(),
    "parsl": ParslLogging(),
    "parsl-quiet": ParslThreads(),
    "pool": PoolLoop(),
    "solvent-processes": SolventProcesses(),
    "parsl-htex": ParslProcesses(),
    "ray": Ray(),
    "dask": Dask(),
}

__all__ = ["SYSTEMS", "Running", "System"]

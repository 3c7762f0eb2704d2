"""What resources hold when a run has ended: for the one who started it, and in files.

The memory of a run goes with the run. What is given to the user is a mapping of it that belongs to this process alone,
so it is not copied; a page is when it is written to.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem, install_hint

if TYPE_CHECKING:
    from solvent.workflows.model import Resource


def opened(resource: Resource, path: Path) -> Any:
    """Give an array over the bytes of a resource, or a view of them."""
    with path.open("rb") as file:
        size = resource.bytes_count or os.fstat(file.fileno()).st_size
        if not size:
            return memoryview(b"")
        view = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
    if resource.shape is None:
        return view
    try:
        import numpy as np
    except ImportError:
        return view
    return np.frombuffer(view, resource.dtype).reshape(resource.shape)


def save(resource: Resource, found: Any) -> None:
    """Write what a resource holds to the file that was asked for: all of it, or nothing."""
    target = Path(str(resource.save))
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".solvent-")
        try:
            with os.fdopen(handle, "wb") as file:
                _write(resource, found, file)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # noqa: PTH101
            os.replace(name, target)  # noqa: PTH105
        except BaseException:
            os.unlink(name)  # noqa: PTH108
            raise
    except OSError as error:
        message = f"the resource `{resource.name}` cannot be saved to `{target}`: {error.strerror or error}"
        raise WorkflowProblem("W163", message) from error


def _write(resource: Resource, found: Any, file: Any) -> None:
    if str(resource.save).endswith(".npy"):
        try:
            import numpy as np
        except ImportError:
            message = f"the resource `{resource.name}` cannot be saved as an array: NumPy is not installed"
            raise WorkflowProblem("W163", message, hint=install_hint("arrays")) from None
        np.save(file, found)
        return
    file.write(memoryview(found).cast("B"))


__all__ = ["opened", "save"]

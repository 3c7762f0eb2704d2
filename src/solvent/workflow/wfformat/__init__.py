"""WfFormat 1.5, the traces of WfCommons: recorded runs to workflows that replay them, and runs of ours to traces.

The format: https://github.com/wfcommons/WfFormat. Reading order: validating, importing, exporting.
"""

from solvent.workflow.wfformat.exporting import RunRecord, TaskRecord, export_run
from solvent.workflow.wfformat.importing import read_document, read_tree
from solvent.workflow.wfformat.validating import validate

__all__ = ["RunRecord", "TaskRecord", "export_run", "read_document", "read_tree", "validate"]

"""Workflow files: YAML and JSON in our layout, and every other format by its suffix.

Reading order: tree (text to plain data with places), reading, services and control (plain data to the model),
values, control_writing and writing (the way back), loading.
"""

from solvent.workflow.files.loading import load, load_text, write
from solvent.workflow.files.writing import plain_workflow, write_json, write_yaml
from solvent.workflow.places import Loaded, Places

__all__ = ["Loaded", "Places", "load", "load_text", "plain_workflow", "write", "write_json", "write_yaml"]

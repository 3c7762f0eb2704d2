"""What a task can call: Python functions, shell commands, HTTP, HOCL programs, other workflows."""

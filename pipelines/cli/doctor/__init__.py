"""The doctor: asks a platform one small question of each kind, and says in words what is right, what is wrong
and what to do about it."""

from pipelines.cli.doctor.examination import needed_scopes, run_doctor

__all__ = ["needed_scopes", "run_doctor"]

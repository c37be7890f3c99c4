"""The doctor: sends a small request to each endpoint, and says what works, what does not, and what to do."""

from pipelines.cli.doctor.examination import needed_scopes, run_doctor

__all__ = ["needed_scopes", "run_doctor"]

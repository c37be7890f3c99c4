"""The command line in the tests' own process: one of its own takes a second and more to import everything."""

import os
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner, Result

from pipelines.cli.main import main


def campus(folder: Path, *arguments: str, typed: str = "", **environment: str) -> Result:
    """Run `campus` in a folder with nothing set but this. What would end a process with a traceback is
    raised. `typed`: the standard input."""
    only = {"PATH": os.environ["PATH"], **environment}
    with chdir(folder), patch.dict(os.environ, only, clear=True):
        return CliRunner().invoke(main, arguments, typed, catch_exceptions=False, prog_name="campus")


def output_of(folder: Path, *arguments: str, **environment: str) -> str:
    """Run a command that ends well; what it said."""
    result = campus(folder, *arguments, **environment)
    assert result.exit_code == 0, result.output
    return result.output

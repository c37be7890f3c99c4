"""A commit in a folder, whose programs and tests run by their code and by this environment's packages."""

import shutil
import subprocess
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder, with a `.venv`, until the block ends.

    Raises subprocess.CalledProcessError, with git's message, for a commit that git does not know."""
    folder = Path(tempfile.mkdtemp())
    tree = folder / "tree"
    try:
        _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
        make_environment(tree / ".venv", tree)
        yield tree
    finally:
        shutil.rmtree(folder)
        _git("worktree", "prune")


def make_environment(environment: Path, tree: Path) -> Path:
    """Make a virtual environment that has the packages of this one, and the tree in place of the installed
    project. Returns its folder of packages."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(environment)
    [packages] = environment.glob("lib/python*/site-packages")
    # A folder of packages that such a file names is searched, but its own .pth files, as of the installed
    # project, are not read.
    (packages / "tree.pth").write_text(f"{tree}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    for program in Path(sysconfig.get_path("scripts")).iterdir():
        if not program.is_file() or program.name.startswith(("python", "activate", "Activate")):
            continue
        first, _, script = program.read_bytes().partition(b"\n")
        if first.startswith(b"#!"):
            copy = environment / "bin" / program.name
            copy.write_bytes(b"#!" + str(environment / "bin" / "python").encode() + b"\n" + script)
            copy.chmod(0o755)
        else:
            (environment / "bin" / program.name).symlink_to(program)
    (environment / "installed").touch()
    return packages


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, stderr=subprocess.PIPE, text=True)

"""A commit in a folder, whose programs and tests run by their code and by this environment's packages."""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder, with a `.venv`, until the block ends.

    Raises subprocess.CalledProcessError for a commit that git does not know."""
    folder = Path(tempfile.mkdtemp())
    tree = folder / "tree"
    try:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        _make_environment(tree)
        yield tree
    finally:
        shutil.rmtree(folder)
        subprocess.run([*git, "prune"], check=True)


def _make_environment(tree: Path) -> None:
    """Make a `.venv` that has the packages of this one, and the tree in place of the installed project."""
    environment = tree / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
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

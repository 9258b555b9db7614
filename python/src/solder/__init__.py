"""solder, an open device linker for CUDA.

The module starts the program `solder` of this package; nothing is linked in Python's own process.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

__all__ = ["LinkError", "cmake_module", "inspect", "link", "nvjitlink", "program", "shadow"]

try:
    __version__ = metadata.version("solder-link")
except metadata.PackageNotFoundError:
    __version__ = "unknown"


class LinkError(Exception):
    """A link or a command that failed.

    `diagnostics` are the messages of a link as dictionaries: `severity`, `code`, `message`, `fields`, `notes`.
    `returncode` is the exit code of the program.
    """

    def __init__(self, text, diagnostics=(), returncode=1):
        super().__init__(text)
        self.diagnostics = list(diagnostics)
        self.returncode = returncode


def program():
    """The path of the program `solder`."""
    named = os.environ.get("SOLDER_PROGRAM")
    if named:
        return named
    folders = [sysconfig.get_path("scripts"), Path(sys.executable).parent]
    user = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else "posix_user"
    folders.append(sysconfig.get_path("scripts", user))
    # `pip install --target` puts programs beside the packages.
    folders.append(Path(__file__).parent.parent / "bin")
    for folder in folders:
        found = Path(folder) / "solder"
        if found.is_file():
            return str(found)
    found = shutil.which("solder")
    if found:
        return found
    raise LinkError("the program 'solder' is not beside this module and not on PATH; SOLDER_PROGRAM may name it")


def link(inputs, arch, output=None, options=()):
    """Links device code.

    `inputs` are paths of cubins, fat binaries, objects, archives and PTX, or `bytes` of them. `arch` is a name such as
    "sm_90". `options` are further words of the command line. Returns the image as `bytes`, or writes it to the path
    `output` and returns that as a `Path`. A link that fails raises `LinkError`; warnings of one that succeeds go to
    standard error.
    """
    if isinstance(inputs, (str, bytes, os.PathLike)):
        inputs = [inputs]
    with tempfile.TemporaryDirectory(prefix="solder-") as folder:
        files = [_file(item, number, folder) for number, item in enumerate(inputs)]
        target = Path(folder) / "linked" if output is None else Path(output)
        words = [program(), "link", f"-arch={arch}", *map(os.fspath, options), "--error-format=json"]
        done = subprocess.run([*words, *files, "-o", os.fspath(target)], capture_output=True, check=False)
        diagnostics, others = _diagnostics(done.stderr)
        texts = [_text(message) for message in diagnostics] + others
        if done.returncode != 0:
            text = "\n".join(texts) or f"solder ended with exit code {done.returncode}"
            raise LinkError(text, diagnostics, done.returncode)
        for text in texts:
            print(text, file=sys.stderr)
        # What options such as -v print.
        sys.stdout.write(done.stdout.decode(errors="replace"))
        return target.read_bytes() if output is None else target


def inspect(path, *options):
    """What is inside a file, as `solder inspect --json` describes it. `path` may be `bytes`."""
    with tempfile.TemporaryDirectory(prefix="solder-") as folder:
        return json.loads(_command("inspect", "--json", *map(os.fspath, options), _file(path, 0, folder)))


def shadow(folder, toolkit=None, remove=False):
    """Makes, or brings up to date, a CUDA toolkit of symbolic links in which nvlink is solder; returns its folder.

    `toolkit` is the root of the toolkit itself; without it, the one that the environment points to. With `remove` the
    folder is taken away.
    """
    words = ["--remove"] if remove else ["--toolkit", os.fspath(toolkit)] if toolkit is not None else []
    _command("shadow", os.fspath(folder), *words)
    return Path(folder)


def nvjitlink(major=13):
    """The path of solder's libnvJitLink for programs made with CUDA of this major version."""
    library = Path(__file__).parent / "lib" / f"libnvJitLink.so.{major}"
    if not library.is_file():
        raise LinkError(f"this package was built without {library.name}")
    return library


def cmake_module():
    """The folder of SolderCUDA.cmake, for CMAKE_MODULE_PATH."""
    return Path(__file__).parent / "cmake"


def _file(item, number, folder):
    """The path of an input; bytes become a file first."""
    if not isinstance(item, (bytes, bytearray, memoryview)):
        return os.fspath(item)
    path = Path(folder) / f"input-{number}{_ending(bytes(item[:8]))}"
    path.write_bytes(item)
    return str(path)


def _ending(head):
    """The linker goes by the name of a file, too: a fat binary and PTX need theirs."""
    if head[:4] == b"\x50\xed\x55\xba":
        return ".fatbin"
    if head[:8] in (b"!<arch>\n", b"!<thin>\n"):
        return ".a"
    if head[:4] == b"\x7fELF":
        return ".o"
    return ".ptx"


def _diagnostics(stderr):
    """The messages, and lines that are not any."""
    messages, others = [], []
    for line in stderr.decode(errors="replace").splitlines():
        try:
            message = json.loads(line)
            (messages if isinstance(message, dict) else others).append(message if isinstance(message, dict) else line)
        except ValueError:
            others.append(line)
    return messages, others


def _text(message):
    notes = "".join(f"\n  {note.get('text', '')}" for note in message.get("notes", ()))
    return f"{message.get('severity', '')}: {message.get('message', '')}{notes}"


def _command(*words):
    done = subprocess.run([program(), *words], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise LinkError(done.stderr.strip() or f"solder {words[0]} failed", returncode=done.returncode)
    return done.stdout

"""What an installed package does. Run in an environment that has nothing but the package:

    python python/tests/test_package.py

QUICKSTART is the folder of the two example cubins; TOOLKIT, if it is set, a CUDA toolkit to build with.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import solder

QUICKSTART = Path(os.environ["QUICKSTART"])
INPUTS = [QUICKSTART / "blur.cubin", QUICKSTART / "weights.cubin"]
TOOLKIT = os.environ.get("TOOLKIT")


def python(*words, **variables):
    """What a fresh interpreter prints."""
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_program_is_the_package_s(self):
        self.assertTrue(Path(solder.program()).is_relative_to(sys.prefix), solder.program())
        self.assertIn(solder.__version__, python("-m", "solder", "--version"))

    def test_a_link_gives_bytes(self):
        image = solder.link(INPUTS, arch="sm_90")
        self.assertEqual(image[:4], b"\x7fELF")
        self.assertEqual(image, solder.link([path.read_bytes() for path in INPUTS], arch="sm_90"))

    def test_a_link_writes_a_file_and_takes_options(self):
        out, rule = self.folder / "out.cubin", self.folder / "out.d"
        options = ["--dependency-file", rule]
        self.assertEqual(solder.link(INPUTS, arch="sm_90", output=out, options=options), out)
        self.assertEqual(out.read_bytes(), solder.link(INPUTS, arch="sm_90"))
        self.assertIn("weights.cubin", rule.read_text())

    def test_a_failed_link_says_why(self):
        with self.assertRaises(solder.LinkError) as caught:
            solder.link(INPUTS[:1], arch="sm_90")
        codes = [message["code"] for message in caught.exception.diagnostics]
        self.assertIn("undefined-reference", codes)
        self.assertEqual(caught.exception.returncode, 255)

    def test_inspect(self):
        self.assertIn("weigh", str(solder.inspect(INPUTS[1])))

    def test_run_loads_the_library_first(self):
        program = self.folder / "program.py"
        program.write_text(
            "import ctypes, sys\n"
            "library = ctypes.CDLL('libnvJitLink.so.13')\n"
            "library.solderNvJitLink\n"
            "print(sys.argv[1:], [line.split()[-1] for line in open('/proc/self/maps') if 'nvJitLink.so.13' in line][0])\n"
        )
        printed = python("-m", "solder", "run", str(program), "a", "b")
        self.assertTrue(printed.startswith("['a', 'b'] "), printed)
        # An emulated machine's own paths are others.
        self.assertIn("/".join(solder.nvjitlink().parts[-3:]), printed)

    def test_cmake_finds_its_module(self):
        self.assertTrue((solder.cmake_module() / "SolderCUDA.cmake").is_file())

    @unittest.skipUnless(TOOLKIT, "there is no CUDA toolkit")
    def test_nvcc_builds_through_the_shadow(self):
        nvcc = solder.shadow(self.folder / "cuda", toolkit=TOOLKIT) / "bin/nvcc"
        (self.folder / "a.cu").write_text("extern __device__ int f(); __global__ void k(int *p) { *p = f(); }")
        (self.folder / "b.cu").write_text("__device__ int f() { return 7; } int main() { return 0; }")
        words = [nvcc, "-arch=sm_90", "-rdc=true", "a.cu", "b.cu", "-o", "program"]
        subprocess.run(words, check=True, cwd=self.folder)
        self.assertIn("solder", str(solder.inspect(self.folder / "program", "--all")))
        solder.shadow(self.folder / "cuda", remove=True)
        self.assertFalse((self.folder / "cuda").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""For cuda.core's own tests of the linker on a machine without a GPU: all that they ask of the device is its architecture, and
of the driver its version."""

import cuda.core
import cuda.core._linker
import cuda.core._program
import pytest


class Device:
    compute_capability = (9, 0)
    arch = "90"


for module in (cuda.core, cuda.core._linker, cuda.core._program):
    module.Device = Device

# So new that it could load whatever is compiled.
cuda.core._program.driver_version = lambda: (99, 0, 0)


@pytest.fixture
def init_cuda():
    pass

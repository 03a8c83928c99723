"""World kernel: packs, match and turn; only rules move numbers (``spec/worldkernel.md``).

``WorldKernel`` over a ``Canon`` is the whole of the rules; ``load_pack`` makes one from texts. Everything around it
(host side, service, store) lies in the modules of this package.
"""

from runtime.world.canon import Canon, compile_canon
from runtime.world.fold import fold
from runtime.world.kernel import ForcedCheck, TurnResult, WorldKernel
from runtime.world.opening import opening_state
from runtime.world.pack.load import LoadedPack, load_pack

__all__ = [
    "Canon",
    "ForcedCheck",
    "LoadedPack",
    "TurnResult",
    "WorldKernel",
    "compile_canon",
    "fold",
    "load_pack",
    "opening_state",
]

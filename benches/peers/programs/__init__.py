"""The programs that are compared, in the order of the table."""

from .ck import Ck
from .codesearch import Codesearch
from .codeweaver import Codeweaver
from .ctags import Ctags
from .lancedb import LancedbExact, LancedbHnsw, LancedbPq
from .probe import Probe
from .ripgrep import Ripgrep
from .semble import Semble, SembleAll
from .tantivy import Tantivy
from .zoekt import Zoekt

ALL = [
    Codeweaver,
    Semble,
    SembleAll,
    Ck,
    Probe,
    Ripgrep,
    Codesearch,
    Zoekt,
    Ctags,
    Tantivy,
    LancedbExact,
    LancedbPq,
    LancedbHnsw,
]

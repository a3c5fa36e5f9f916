"""Search engines and databases that hold vectors: open a table by its address, search it, steer the results."""

from mascot.connect.engines.engine import EngineHits as EngineHits
from mascot.connect.engines.engine import EngineSource as EngineSource
from mascot.connect.engines.engine import NoKey as NoKey
from mascot.connect.engines.sink import Sink as Sink
from mascot.connect.engines.source import FewCandidates as FewCandidates
from mascot.connect.engines.source import Steered as Steered
from mascot.connect.engines.source import asteer as asteer
from mascot.connect.engines.source import open_sink as open_sink
from mascot.connect.engines.source import open_source as open_source
from mascot.connect.engines.source import steer as steer
from mascot.connect.engines.source import steer_many as steer_many

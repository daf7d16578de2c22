"""Random operands. All are drawn in binary64, so that every dtype rounds the same numbers."""

import ml_dtypes
import numpy

DTYPES = {"f64": numpy.float64, "f32": numpy.float32, "bf16": ml_dtypes.bfloat16,
          "f16": numpy.float16}
SEED = 20240229


class Draws:
    """Standard normal numbers of one dtype, from one seed."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.source = numpy.random.default_rng(SEED)

    def normal(self, *shape):
        return self.source.standard_normal(shape).astype(self.dtype)

    def true_with(self, probability, *shape):
        return self.source.random(shape) < probability

    def operands(self, heads=(3, 3), lengths=(5, 7), widths=(16, 16), batch=2):
        """Query, key and value with axes (batch, heads, sequence, channel). `heads` of queries and
        keys, `lengths` of queries and keys, `widths` of keys and values."""
        return (self.normal(batch, heads[0], lengths[0], widths[0]),
                self.normal(batch, heads[1], lengths[1], widths[0]),
                self.normal(batch, heads[1], lengths[1], widths[1]))


def heads_last(tensor):
    """(batch, heads, sequence, channel) as (batch, sequence, heads, channel), and back."""
    return numpy.ascontiguousarray(numpy.swapaxes(tensor, 1, 2))


def flattened(tensor):
    """(batch, heads, sequence, channel) as (batch, sequence, heads * channel)."""
    batch, _, length, _ = tensor.shape
    return heads_last(tensor).reshape(batch, length, -1)

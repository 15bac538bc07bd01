"""Export the torch models of this directory as MLIR.

Needs torch 2.13.0 and iree-turbine 3.9.0: python torch_models.py DIRECTORY
"""

import sys
from pathlib import Path

import torch
from iree.turbine import aot
from torch import nn
from torch.export import Dim

OUT = Path(sys.argv[1])
M = {}


def model(args, dynamic=None, **kw):
    def deco(cls):
        M[cls.__name__] = (cls, args, dynamic, kw)
        return cls

    return deco


B, T, N = Dim("B", min=2, max=64), Dim("T", min=2, max=64), Dim("N", min=2)
z = torch.zeros


def i64(*s):
    return torch.zeros(*s, dtype=torch.int64)


def b_(*s):
    return torch.zeros(*s, dtype=torch.bool)


@model((z(2, 4),), {"x": {0: B}})
class mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)
        self.b = nn.Linear(3, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


@model((z(2, 4), z(2, 4)), {"x": {0: B}, "y": {0: B}})
class shared_batch(nn.Module):
    def forward(self, x, y):
        return x * y, torch.cat([x, y], 1)


@model((z(2, 4), z(5, 4)), {"x": {0: B}, "y": {0: T}})
class cat_rows(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], 0)


@model((i64(2, 5),), {"ids": {0: B, 1: T}})
class embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 4)

    def forward(self, ids):
        return self.e(ids)


@model((z(3, 4), z(3, 4), b_(3, 4)))
class where(nn.Module):
    def forward(self, x, y, m):
        return torch.where(m, x, y), torch.logical_not(m)


@model(
    (
        z(2, 3, dtype=torch.float16),
        z(2, 3, dtype=torch.bfloat16),
        z(2, 3, dtype=torch.float64),
        z(2, 3, dtype=torch.int8),
        z(2, 3, dtype=torch.uint8),
        z(2, 3, dtype=torch.int16),
        z(2, 3, dtype=torch.int32),
    )
)
class dtypes(nn.Module):
    def forward(self, a, b, c, d, e, f, g):
        return a + 1, b + 1, c + 1, d + 1, e + 1, f + 1, g + 1


@model((z(1, 3, 8, 8),))
class conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3)
        self.n = nn.BatchNorm2d(4)

    def forward(self, x):
        return self.n(self.c(x)).mean((2, 3))


@model((z(2, 4), z(3), z(7)))
class unused(nn.Module):
    def forward(self, x, y, w):
        return x + 1, y


@model((z(5, 6),))
class topk(nn.Module):
    def forward(self, x):
        return torch.topk(x, 3, dim=1)


@model((z(5, 6),), {"x": {0: N}})
class argmax(nn.Module):
    def forward(self, x):
        return torch.argmax(x, 1), x.sum(), x.max()


@model((z(2, 3),))
class cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", z(2, 3))

    def forward(self, x):
        self.state.add_(x)
        return self.state * 2


@model((z(2, 4, 8),), {"x": {0: B, 1: T}})
class attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)
        self.k = nn.Linear(8, 8)
        self.v = nn.Linear(8, 8)

    def forward(self, x):
        return torch.nn.functional.scaled_dot_product_attention(
            self.q(x)[:, None], self.k(x)[:, None], self.v(x)[:, None]
        )[:, 0]


@model((z(4, 6),), {"x": {0: N}})
class views(nn.Module):
    def forward(self, x):
        return x.reshape(-1), x.t(), x[None], x[1:]


@model((z(4, 6), z(6, 2)), {"x": {0: N}, "y": {1: B}})
class matmul(nn.Module):
    def forward(self, x, y):
        return x @ y, (x @ y).sum(0)


@model((z(()), z(1)))
class rank0(nn.Module):
    def forward(self, x, y):
        return x + 1, x + y


@model((z(2, 4),), {"x": {0: B}}, params=True)
class params(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)

    def forward(self, x):
        return self.a(x)


@model((torch.zeros(3, 4, dtype=torch.complex64),))
class cplx(nn.Module):
    def forward(self, x):
        return torch.real(x) + 1


@model((z(3, 4),), {"x": {0: N}})
class layernorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.LayerNorm(4)

    def forward(self, x):
        return torch.softmax(self.n(x), -1)


@model((z(3, 4), 5))
class scalar(nn.Module):
    def forward(self, x, n):
        return x * n


@model(((z(3, 4), {"a": z(2), "b": [z(1), z(2, 2)]}),))
class nested(nn.Module):
    def forward(self, t):
        return {"r": t[0] + 1, "s": (t[1]["a"] + 1, t[1]["b"][0] + t[1]["b"][1])}


@model((z(3, 0), z(3, 2)))
class empty(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], 1)


@model((z(6),))
class nonzero(nn.Module):
    def forward(self, x):
        return torch.nonzero(x)


@model((i64(4), z(8, 3)))
class gather(nn.Module):
    def forward(self, i, x):
        return x[i], i + 1


@model((z(2, 4), z(2, 4)), {"x": {0: B}, "y": {0: B}})
class inplace(nn.Module):
    def forward(self, x, y):
        x.add_(y)
        return x * 2


@model((z(2, 4),), {"x": {0: Dim.AUTO, 1: Dim.AUTO}})
class square(nn.Module):
    def forward(self, x):
        return x.expand(3, -1, -1) + 1, torch.zeros(x.shape[1], x.shape[0])


@model((z(1, 3, 16, 16),), {"x": {2: Dim.AUTO, 3: Dim.AUTO}})
class pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 2, 3, padding=1)

    def forward(self, x):
        return torch.nn.functional.max_pool2d(self.c(x), 2)


for name, (cls, args, dynamic, options) in M.items():
    torch.manual_seed(0)
    model_object = cls().eval()
    if options.get("params"):
        aot.externalize_module_parameters(model_object)
    exported = aot.export(model_object, args=args, dynamic_shapes=dynamic, module_name=name)
    (OUT / f"torch_{name}.mlir").write_text(f"{exported.mlir_module}\n")

"""The systems of Newton's method, by conjugate gradients on kernel products (Seeger2008, section 5.1.1, appendix B).

In level space a product is O(nnz C + S C), and a direct solution would be of size S C. Systems of S x S, one a class,
are no gain even where S is small: as a preconditioner they halved the rounds on letter (n = 4,000, S = 500, variance
100) at twice the cost of a round, since what is badly conditioned is how a row's probabilities couple its classes.
"""

import numpy as np

from core._types import Floats
from core.softmax.joint import JointKernel
from core.softmax.subspace import Deflation, Subspace

MAX_ROUNDS = 1000


class Curvature:
    """W, the Hessian of the likelihood by the latents (n x q x C), and systems with I + W K.

    W = counts (diag(pi) - pi pi^T) row by row. On vectors d with pi^T d = 0 it is the product with mu = counts pi, so
    that nothing is ever divided by a probability and tiny ones need no exceptions (as in Seeger2008, appendix B).
    """

    def __init__(self, joint: JointKernel, probabilities: Floats, counts: Floats) -> None:
        self._joint = joint
        self._pi = probabilities
        self._mu = counts[:, :, None] * probabilities
        w = joint.own_product(self._pi)
        self._diagonal = 1.0 + self._mu * np.maximum(joint.diagonal - 2.0 * w + row_dots(self._pi, w), 0.0)
        self.products = 0

    def solve(
        self, h: Floats, tolerance: Floats, max_rounds: int = MAX_ROUNDS, past: Subspace | None = None
    ) -> tuple[Floats, Floats]:
        """s = (I + W K)^-1 h and K s, until |h - (I + W K) s| is below the tolerance of each problem.

        s = h - mu b, where b with pi^T b = 0 solves b + C K mu b = C K h and C takes out the mean under pi. That system
        is symmetric in the inner product of mu, its diagonal preconditions it, and h^T K s > 0 whenever the rounds
        end, so that -s goes down where h is the gradient. What is solved in the subspace of `past` needs no product;
        the directions of this solve are added to it.
        """
        s, ks = h, self._product(h)
        r = self._centred(ks)
        deflation = Deflation.of(past, self._mu) if past else None
        if deflation is not None:
            b, p, kp = deflation.solution(self._mu * r)
            s, ks, r = s - p, ks - kp, r - b - self._centred(kp)
        d, before = np.zeros_like(r), np.ones(r.shape[1])
        for _ in range(max_rounds):
            mr = self._mu * r
            if (np.sqrt(dots(mr, mr)) <= tolerance).all():
                break
            z = self._centred(r / self._diagonal)
            if deflation is not None:
                z = z - deflation.part(self._mu * z, mr)
            rz = dots(mr, z)
            d = z + ratio(rz, before)[:, None] * d
            p = self._mu * d
            kp = self._product(p)
            ad = d + self._centred(kp)
            bend = dots(p, ad)
            step = ratio(dots(mr, d), bend)[:, None]
            s, ks, r = s - step * p, ks - step * kp, r - step * ad
            before = rz
            if past is not None:
                past.keep(p, kp, float(bend[0]))
        return s, ks

    def _centred(self, v: Floats) -> Floats:
        return np.asarray(v - row_dots(self._pi, v))

    def _product(self, v: Floats) -> Floats:
        self.products += 1
        return self._joint.product(v)


def dots(a: Floats, b: Floats) -> Floats:
    """Inner product of each problem, q."""
    return np.asarray(np.einsum("nqc,nqc->q", a, b))


def row_dots(a: Floats, b: Floats) -> Floats:
    """Inner product of each row in each problem, n x q x 1."""
    return np.asarray(np.einsum("nqc,nqc->nq", a, b)[:, :, None])


def ratio(a: Floats, b: Floats) -> Floats:
    """a / b, zero where b is none."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)

"""One step ahead: what answers about items would change at a reference (core/DESIGN.md, section 7)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from core._jit import ahead
from core._jit.ahead import PROBIT, SOFTMAX, Items
from core._parallel import over_slices
from core._types import Floats, Indices, no_rows
from core.forest.mixture import TreeMoments, mixture
from core.posterior import one_vs_all
from core.probabilities import Likelihood

ANSWERS = 3  # the likeliest, of as many classes as there are
NODES, WEIGHTS = hermegauss(12)
ROUNDS = 20  # of Newton's method for one label under softmax
WORK = 10  # entries of plain work that the probability of a class costs
JITTER = 1e-12  # relative

Covariances = Callable[[Indices, Indices], Floats]
"""Posterior covariances of items, L x rows x columns: by T posteriors, and under softmax of the means (L = T + 1)."""


def one_posterior(mean: Floats, variance: Floats, noise: float) -> Items:
    """Of a model without trees: all items are in one leaf."""
    nowhere = np.zeros((1, len(variance)), dtype=np.int64)
    moments = np.ascontiguousarray(mean)[None], np.ascontiguousarray(variance)[None]
    return Items(*moments, np.full((1, len(variance)), noise), nowhere, nowhere - 1)


def class_probabilities(items: Items, likelihood: Likelihood) -> Floats:
    """Averaged over the posteriors, m x M."""
    return np.asarray(_by_posterior(items, likelihood).mean(axis=0))


@dataclass(frozen=True, eq=False)
class LookAhead:
    """What one answer about each of q items would change at the R items of a reference, by T posteriors.

    The posterior after an answer is that of a fit on all labels under label regression, also in a forest, whose trees
    stay as they are; under softmax means are one label on top of the Laplace approximation of what was known before.
    Items that were `asked` count as answered with their means.
    """

    rows: Indices  # q, numbers in the pool
    reference: Indices  # R
    items: Items  # T x q
    around: Items  # T x R
    likelihood: Likelihood
    noise: float
    covariances: Covariances  # before anything was asked
    every: Floats  # L x q x R
    latent: Floats  # q, variances by which the answers under softmax move means
    costs: Floats | None  # M x M, of a true class and the one that is decided for; None is the log loss
    known: Indices  # k, those that were asked
    seen: Floats  # L x (q + R) x k, their covariances before anything was asked
    own: Floats  # L x k x k, with noise

    @classmethod
    def of(
        cls,
        rows: Indices,
        reference: Indices,
        items: Items,
        around: Items,
        likelihood: Likelihood,
        noise: float,
        covariances: Covariances,
        costs: Floats | None = None,
        latent: Floats | None = None,
    ) -> Self:
        """With nothing asked yet; the smaller of both sides is solved for."""
        if len(rows) < len(reference):
            every = np.ascontiguousarray(covariances(reference, rows).swapaxes(1, 2))
        else:
            every = np.ascontiguousarray(covariances(rows, reference))
        several, both = len(every), len(rows) + len(reference)
        latent = items.variance[0] if latent is None else latent
        nothing = no_rows(), np.empty((several, both, 0)), np.empty((several, 0, 0))
        return cls(rows, reference, items, around, likelihood, noise, covariances, every, latent, costs, *nothing)

    @property
    def covariance(self) -> Floats:
        """With the reference, T x q x R."""
        return self.every[: len(self.items.mean)]

    @property
    def reach(self) -> Floats:
        """The covariances by which means move, T x q x R."""
        return self.every[-len(self.items.mean) :]

    def take(self, places: Indices) -> Self:
        """The items at these places alone."""
        everywhere = np.concatenate([places, np.arange(len(self.rows), len(self.rows) + len(self.reference))])
        return replace(
            self,
            rows=self.rows[places],
            items=_some_of(self.items, places),
            every=np.ascontiguousarray(self.every[:, places]),
            latent=self.latent[places],
            seen=self.seen[:, everywhere],
        )

    def asked(self, rows: Indices) -> Self:
        """Once these items count as answered with their means, too: means stay, all else is better known."""
        q, k, trees = len(self.rows), len(self.known), len(self.items.mean)
        everywhere = np.concatenate([self.rows, self.reference, self.known, rows])
        new = self.covariances(everywhere, rows)
        seen, before, own = np.split(new, [q + len(self.reference), q + len(self.reference) + k], axis=1)
        own = own + np.eye(len(rows)) * (self.noise + JITTER * np.abs(own).max(initial=0.0))
        solved = np.linalg.solve(self.own, before)
        less = seen - self.seen @ solved
        gains = np.linalg.solve(own - before.swapaxes(1, 2) @ solved, less.swapaxes(1, 2))  # L x r x (q + R)
        drop = np.einsum("tsr,trs->ts", less, gains)
        return replace(
            self,
            items=_less_uncertain(self.items, drop[:trees, :q]),
            around=_less_uncertain(self.around, drop[:trees, q:]),
            every=np.ascontiguousarray(self.every - less[:, :q] @ gains[:, :, q:]),
            latent=np.maximum(self.latent - drop[-1, :q], 0.0),
            known=np.concatenate([self.known, rows]),
            seen=np.concatenate([self.seen, seen], axis=2),
            own=np.block([[self.own, before], [before.swapaxes(1, 2), own]]),
        )

    @property
    def answers(self) -> tuple[Indices, Floats]:
        """The likeliest answers about each item, and their probabilities among these; q x A each."""
        p = class_probabilities(self.items, self.likelihood)
        answers = np.argsort(-p, axis=1, kind="stable")[:, :ANSWERS]
        chances = np.take_along_axis(p, answers, axis=1)
        return np.ascontiguousarray(answers), chances / chances.sum(axis=1, keepdims=True)

    def steps(self, answers: Indices) -> Floats:
        """What answers (q x A) do to means: each moves by its covariance with the item times this; T x q x A x M."""
        n_classes = self.items.mean.shape[2]
        mean, variance = self.items.mean[:, :, None], self.items.variance[:, :, None, None]
        if self.likelihood == "softmax":
            return _softmax_steps(np.eye(n_classes).take(answers, axis=0), mean, self.latent[None, :, None, None])
        targets = one_vs_all(answers.ravel(), n_classes).reshape(*answers.shape, n_classes)
        return np.asarray((targets - mean) / (variance + self.items.noise[:, :, None, None]))

    def after(self, place: int, answer: int) -> Items:
        """The posteriors of the reference once the item at this place has this answer."""
        items, around = self.items, self.around
        step = self.steps(np.full((len(self.rows), 1), answer))[:, place, 0]
        together = items.leaves[:, [place]] == around.leaves
        c, reach = (np.where(together, known[:, place], 0.0) for known in (self.covariance, self.reach))
        spread = items.variance[:, place] + items.noise[:, place]
        return around._replace(
            mean=around.mean + reach[:, :, None] * step[:, None],
            variance=np.maximum(around.variance - c**2 / spread[:, None], 0.0),
            pure=np.where(together & (around.pure != answer), -1, around.pure),
        )

    def moments(self, place: int, answer: int) -> tuple[Floats, Floats]:
        """Mean (R x M) and variance (R) of the reference once the item at this place has this answer."""
        after = self.after(place, answer)
        found = mixture((_tree(after, t) for t in range(len(after.mean))), "moments")
        return found.mean, found.variance

    def expected_loss(self) -> Floats:
        """The mean loss over the reference that is expected once there is an answer, q."""
        if self.costs is None and len(self.items.mean) == 1:
            return self._entropies()
        return self._losses(self.costs)[:, 0]

    def information(self) -> Floats:
        """What each answer tells of that about an item of the reference (Smith2023), q.

        Under the Gaussian likelihood each class against the rest, a probit integral (for one function, whose answers
        are numbers, the logarithm of a correlation); under softmax by the answers one step ahead.
        """
        if self.likelihood == "softmax":
            found = self._losses(None)
            return np.asarray(found[:, 1] - found[:, 0])
        if self.items.mean.shape[2] == 1:
            return self._of_numbers()
        columns = self.answers[0] if self.items.mean.shape[2] > 2 else np.ones((len(self.rows), 1), dtype=np.int64)
        out, weights = np.empty(len(self.rows)), WEIGHTS / WEIGHTS.sum()
        over_slices(
            lambda lo, hi: ahead.informations(
                self.items, self.around, self.covariance, columns, NODES, weights, out, lo, hi
            ),
            len(out),
            self.covariance.size * columns.shape[1] * len(NODES) * WORK,
        )
        return out

    def _of_numbers(self) -> Floats:
        """Between two Gaussian answers: -log(1 - correlation^2) / 2."""
        spreads = (self.items.variance + self.items.noise)[:, :, None] * (self.around.variance + self.around.noise)[
            :, None
        ]
        return np.asarray(-0.5 * np.log1p(-np.minimum(self.covariance**2 / spreads, 1.0 - 1e-15)).mean(axis=(0, 2)))

    def _entropies(self) -> Floats:
        """The first column of the losses, for one posterior and the log loss."""
        answers, chances = self.answers
        steps, out = np.ascontiguousarray(self.steps(answers)), np.empty(len(self.rows))
        link = _link(self.likelihood)
        over_slices(
            lambda lo, hi: ahead.expected_entropies(
                self.items, self.around, self.covariance, self.reach, link, steps, chances, out, lo, hi
            ),
            len(out),
            self.covariance.size * steps[0, 0].size * WORK,
        )
        return out

    def _losses(self, costs: Floats | None) -> Floats:
        answers, chances = self.answers
        n_classes = self.items.mean.shape[2]
        table = np.empty((n_classes, 0)) if costs is None else np.ascontiguousarray(costs)
        steps, out = np.ascontiguousarray(self.steps(answers)), np.empty((len(self.rows), 2))
        now = _by_posterior(self.around, self.likelihood)
        over_slices(
            lambda lo, hi: ahead.expected_losses(
                self.items,
                self.around,
                self.covariance,
                self.reach,
                now,
                _link(self.likelihood),
                steps,
                answers,
                chances,
                table,
                out,
                lo,
                hi,
            ),
            len(out),
            self.covariance.size * answers.shape[1] * n_classes * WORK,
        )
        return out


def _tree(items: Items, t: int) -> TreeMoments:
    pure, mean = items.pure[t], items.mean[t].copy()
    mean[pure >= 0] = one_vs_all(pure[pure >= 0], mean.shape[1])
    return TreeMoments(mean, items.variance[t], items.noise[t], pure)


def _link(likelihood: Likelihood) -> int:
    return SOFTMAX if likelihood == "softmax" else PROBIT


def _by_posterior(items: Items, likelihood: Likelihood) -> Floats:
    """Class probabilities, T x m x M."""
    out: Floats = np.empty(items.mean.shape)
    over_slices(
        lambda lo, hi: ahead.probabilities(items, _link(likelihood), out, lo, hi), out.shape[1], out.size * WORK
    )
    return out


def _some_of(items: Items, places: Indices) -> Items:
    mean, variance, noise = (part[:, places].copy("C") for part in (items.mean, items.variance, items.noise))
    return Items(mean, variance, noise, items.leaves[:, places].copy("C"), items.pure[:, places].copy("C"))


def _less_uncertain(items: Items, drop: Floats) -> Items:
    return items._replace(variance=np.ascontiguousarray(np.maximum(items.variance - drop, 0.0)))


def _softmax_steps(targets: Floats, mean: Floats, variance: Floats) -> Floats:
    """a = target - p(mean + variance a): where the mode of a label and the Gaussian that was known before lies.

    Newton's method on all at once. The system I + v (diag(p) - p p^T) is a diagonal D less v p p^T, solved by the rule
    of Sherman and Morrison.
    """
    found: Floats = np.zeros_like(targets + mean)
    for _ in range(ROUNDS):
        latent = mean + variance * found
        p = np.exp(latent - latent.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        residual, diagonal = targets - p - found, 1.0 + variance * p
        scaled = p / diagonal
        lead = (p * residual / diagonal).sum(axis=-1, keepdims=True)
        step = residual / diagonal + variance * scaled * lead / (
            1.0 - variance * (p * scaled).sum(axis=-1, keepdims=True)
        )
        found = found + step
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
    return np.asarray(found)
